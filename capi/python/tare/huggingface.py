"""tare.huggingface.MonitorCallback: tare.torch.Monitor in the Hugging Face Trainer."""
from __future__ import annotations

import json
import logging
import os
from typing import Any

from transformers import TrainerCallback

from .answers import Answer
from .torch_monitor import Monitor

_FILE = "tare_monitor.json"  # in each checkpoint
_log = logging.getLogger(__name__)


class MonitorCallback(TrainerCallback):
    """
        MonitorCallback.attach(trainer, every=10, log_dir="runs/a")

    or Trainer(callbacks=[MonitorCallback(...)]), where the Trainer's own log and progress bar get its numbers, and
    reports to TensorBoard and their like, which were called before, do not. Takes what tare.torch.Monitor takes, but for
    model, scaler and optimizer, which are the Trainer's. Each log gets "loss_scale", "skipped" and "underflow" (percent);
    what is found is warned of by `logging`, and kept in `findings`. Checkpoints get a file from which a resumed run goes
    on."""

    def __init__(self, **options: Any):
        self._options = options
        self.monitor: Monitor | None = None
        self.findings: list[Answer] = []

    @classmethod
    def attach(cls, trainer: Any, **options: Any) -> MonitorCallback:
        """In front of the Trainer's other callbacks, so that all of them get what it adds to the log."""
        callback = cls(**options)
        trainer.callback_handler.callbacks.insert(0, callback)
        return callback

    def on_train_begin(self, args: Any, state: Any, control: Any, **trained: Any) -> None:
        optimizer = trained.get("optimizer")
        scaler = getattr(optimizer, "scaler", None)
        self.monitor = Monitor(trained["model"], scaler, optimizer=getattr(optimizer, "optimizer", optimizer),
                               **self._options)
        self.monitor.follow()
        path = _path(args, state)
        if state.global_step > 0 and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.monitor.load_state_dict(json.load(file))

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **trained: Any) -> None:
        if self.monitor is not None and not self.monitor.is_followed:
            self.monitor.gradients()

    def on_step_end(self, args: Any, state: Any, control: Any, **trained: Any) -> None:
        if self.monitor is None:
            return
        self._tell(self.monitor.step(state.global_step))

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **trained: Any) -> None:
        if self.monitor is None or logs is None:
            return
        told = self.monitor.signals()
        logs.update(told)
        if state.log_history and state.log_history[-1].get("step") == state.global_step:
            state.log_history[-1].update(told)  # a copy was put there before

    def on_save(self, args: Any, state: Any, control: Any, **trained: Any) -> None:
        path = _path(args, state)
        if self.monitor is None or not state.is_world_process_zero or not os.path.isdir(os.path.dirname(path)):
            return
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.monitor.state_dict(), file)

    def on_train_end(self, args: Any, state: Any, control: Any, **trained: Any) -> None:
        if self.monitor is not None:
            self._tell(self.monitor.close())

    def _tell(self, found: list[Answer]) -> None:
        for finding in found:
            self.findings.append(finding)
            _log.warning("%s: %s. %s", finding.code, finding.message, finding.advice)


def _path(args: Any, state: Any) -> str:
    return os.path.join(args.output_dir, f"checkpoint-{state.global_step}", _FILE)


__all__ = ["MonitorCallback"]
