"""Gives a loaded scaler state to the framework's own scaler and asks that one what it is: {what: number}."""
import copy
import types

import torch

from loading import deepspeed


def torch_scaler(state):
    """torch.amp.GradScaler, enabled although there is no GPU."""
    try:
        scaler = torch.amp.GradScaler("cpu")
    except (AttributeError, TypeError):  # before torch 2.3
        torch.cuda.amp.grad_scaler.amp_definitely_not_available = lambda: False
        scaler = torch.cuda.amp.GradScaler()
    if isinstance(state, dict):
        scaler.load_state_dict(state)
    else:
        scaler = copy.deepcopy(state)
        scaler._enabled = True
    return {"GradScaler.get_scale()": scaler.get_scale(), "_get_growth_tracker()": scaler._get_growth_tracker(),
            "get_growth_interval()": scaler.get_growth_interval()}


def deepspeed_scaler(state):
    """DeepSpeed's pickled LossScaler, which must also survive a clean step. Its dict form belongs to the optimizer."""
    if isinstance(state, dict):
        return None
    from deepspeed.runtime.fp16 import loss_scaler
    loss_scaler.dist = types.SimpleNamespace(get_rank=lambda: 1)
    scaler = copy.deepcopy(state)
    scale = scaler.loss_scale
    scaler.update_scale(False)
    return {f"{type(scaler).__name__}.loss_scale": scale, "cur_iter after a step": getattr(scaler, "cur_iter", None)}


def megatron_scaler(state):
    from megatron.core.optimizer import grad_scaler
    torch.cuda.current_device = lambda: 0
    torch.Tensor.cuda = lambda self, *_, **__: self
    kind = grad_scaler.DynamicGradScaler if "growth_tracker" in state else grad_scaler.ConstantGradScaler
    scaler = kind.__new__(kind)
    scaler.load_state_dict(copy.deepcopy(state))
    return {f"{kind.__name__}.scale": scaler.scale.item(), "_growth_tracker": getattr(scaler, "_growth_tracker", None)}


OWN_SCALER = {"torch": torch_scaler}
if deepspeed:
    OWN_SCALER |= {"deepspeed": deepspeed_scaler, "megatron": megatron_scaler}


def report(dialect, state):
    """What the framework's scaler says of itself, as text; "" where that dialect has none here."""
    said = OWN_SCALER.get(dialect, lambda _: None)(state)
    return ", ".join(f"{what} = {value!r}" for what, value in (said or {}).items() if value is not None)
