"""tare.lightning.MonitorCallback: tare.torch.Monitor in Lightning."""
from __future__ import annotations

import logging
from typing import Any

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback  # of the same classes, by its other name

from .answers import Answer
from .torch_monitor import Monitor

_log = logging.getLogger(__name__)


class MonitorCallback(Callback):
    """
        Trainer(precision="16-mixed", callbacks=[MonitorCallback(every=10)])

    Takes what tare.torch.Monitor takes, but for model and scaler, which are the Trainer's. Logs "loss_scale", "skipped"
    and "underflow" (percent); what is found is warned of by `logging`, and kept in `findings`. Checkpoints hold what a
    resumed run goes on with."""

    def __init__(self, **options: Any):
        self._options = options
        self._saved: dict[str, Any] | None = None
        self._steps = 0
        self.monitor: Monitor | None = None
        self.findings: list[Answer] = []

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self.monitor = Monitor(pl_module, getattr(trainer.precision_plugin, "scaler", None), **self._options)
        self.monitor.follow()
        self._steps = trainer.global_step
        if self._saved is not None:
            self.monitor.load_state_dict(self._saved)

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        if self.monitor is not None and not self.monitor.is_followed:
            self.monitor.gradients()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if self.monitor is None or trainer.global_step == self._steps:  # gradients still add up
            return
        self._steps = trainer.global_step
        self._tell(self.monitor.step(self._steps))
        pl_module.log_dict(self.monitor.signals())

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        if self.monitor is not None:
            self._tell(self.monitor.close())
            self._saved = self.monitor.state_dict()

    def _tell(self, found: list[Answer]) -> None:
        for finding in found:
            self.findings.append(finding)
            _log.warning("%s: %s. %s", finding.code, finding.message, finding.advice)

    def state_dict(self) -> dict[str, Any]:
        return self.monitor.state_dict() if self.monitor is not None else dict(self._saved or {})

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._saved = dict(state_dict) or None


__all__ = ["MonitorCallback"]
