#!/usr/bin/env python3
"""Does the same with torch's GradScaler and with tare's and compares every gradient, weight, state and refusal.

    torch_scaler.py LIBTARE REPOSITORY [DEVICE [STEPS [package]]]

On the CPU; exit 77 where torch has none to compare with. "package": tare.torch.GradScaler of the Python package; else
that of capi/examples.
"""
import copy
import ctypes
import functools
import inspect
import pickle
import random
import sys
import warnings

sys.dont_write_bytecode = True
library, root = sys.argv[1:3]
device = sys.argv[3] if len(sys.argv) > 3 else "cpu"
steps = int(sys.argv[4]) if len(sys.argv) > 4 else 60
is_package = sys.argv[5:] == ["package"]
sys.path.insert(0, f"{root}/capi/python" if is_package else f"{root}/capi/examples")
try:
    import torch
except ImportError:
    print("no torch: not run")
    sys.exit(77)

if not hasattr(torch.amp, "GradScaler"):
    print(f"torch {torch.__version__} has no GradScaler for the CPU: not run")
    sys.exit(77)

if is_package:
    ctypes.CDLL(library)  # the package then finds it by its name
    import tare.torch as torch_scaler
else:
    import tare
    import torch_scaler
    tare.open_library(library)
torch.set_num_threads(1)  # all is tiny here

if device != "cpu" and not torch.cuda.is_available():
    print(f"torch {torch.__version__} sees no GPU: not run")
    sys.exit(77)


def plain(value):
    """What can be compared: nan is nan, and 0 is not -0."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        numbers = value.to_dense() if value.is_sparse else value
        return str(value.dtype), tuple(value.shape), str(value.layout), repr(numbers.double().tolist())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    return type(value).__name__, repr(value)


def outcome(call, *arguments, **options):
    try:
        return plain(call(*arguments, **options))
    except Exception as error:
        return f"raises {type(error).__name__}"


def differences(have, wanted, where=""):
    if type(have) is type(wanted) and isinstance(have, (dict, list, tuple)) and len(have) == len(wanted):
        keys = have.keys() if isinstance(have, dict) else range(len(have))
        return [d for key in keys for d in differences(have[key], wanted[key], f"{where}/{key}")]
    return [] if have == wanted else [f"{where}: tare {have}, torch {wanted}"]


def optimizer_of(*gradients, kind=torch.optim.SGD, **options):
    parameters = []
    for gradient in gradients:
        parameters.append(torch.nn.Parameter(torch.ones(gradient.shape, dtype=gradient.dtype, device=device)))
        parameters[-1].grad = gradient
    return kind(parameters, lr=0.25, **options)


def gradients_of(optimizer):
    return plain([p.grad for group in optimizer.param_groups for p in group["params"]])


def weights_of(optimizer):
    return plain([p for group in optimizer.param_groups for p in group["params"]])


def started(make, **options):
    scaler = make(**options)
    scaler.scale(torch.zeros(1, device=device))
    return scaler


def two():
    return torch.tensor([2.0, -8.0], device=device)


def overflowed():
    return torch.tensor([2.0, float("inf")], device=device)


# Each scenario does one thing with a scaler that `make` makes, and returns what there is to compare.

def it_has_the_methods_of_torch_and_their_signatures(make):
    def parameters(name):
        taken = inspect.signature(getattr(make.func, name)).parameters.values()
        return [(p.name, str(p.kind), p.default) for p in taken if p.name != "config"]  # which is tare's own
    public = [name for name in dir(torch.amp.GradScaler) if not name.startswith("_")]
    return {name: outcome(parameters, name) for name in ["__init__", "__getstate__", "__setstate__", *public]}


def it_trains_the_same_weights(make):
    torch.manual_seed(0)
    chance = random.Random(0)
    words = torch.nn.Embedding(6, 4, sparse=True).to(device)
    image = torch.nn.Conv2d(2, 3, 2).to(device, memory_format=torch.channels_last)
    last = torch.nn.Linear(4 + 3, 2).to(device)
    optimizers = [torch.optim.SGD(words.parameters(), lr=0.05),
                  torch.optim.SGD(image.parameters(), lr=0.05, momentum=0.5),
                  torch.optim.Adam(last.parameters(), fused=True)]  # skips by itself
    scaler = make(init_scale=2.0**10, growth_interval=3)
    history = []
    for step in range(steps):
        for optimizer in optimizers:
            optimizer.zero_grad()
        seen = image(torch.randn(8, 2, 3, 3, device=device).to(memory_format=torch.channels_last)).mean((2, 3))
        loss = last(torch.cat([words(torch.randint(6, (8,), device=device)), seen], 1)).square().mean()
        scaler.scale(loss).backward()
        if chance.random() < 0.2:  # one optimizer overflows, the others do not
            chance.choice([image, last]).bias.grad[0] = chance.choice([float("inf"), float("-inf"), float("nan")])
        for optimizer in optimizers:
            if chance.random() < 0.2:
                scaler.unscale_(optimizer)
        for optimizer in chance.sample(optimizers, 3):
            scaler.step(optimizer)
        scaler.update(chance.choice([512.0, torch.tensor(700.5, device=device)]) if chance.random() < 0.1 else None)
        then = chance.choice(["grow", "back off", "wait", "pickle", "load"] + 7 * ["go on"])
        if then == "grow":
            scaler.set_growth_factor(chance.choice([2.0, 1.7, 3.0]))
        elif then == "back off":
            scaler.set_backoff_factor(chance.choice([0.5, 0.3]))
        elif then == "wait":
            scaler.set_growth_interval(chance.choice([1, 3, 5]))
        elif then == "pickle":
            scaler = pickle.loads(pickle.dumps(scaler))
        elif then == "load":
            saved = scaler.state_dict()
            scaler = make()
            scaler.load_state_dict(saved)
        history.append((scaler.get_scale(), scaler.state_dict(), [weights_of(o) for o in optimizers]))
    return history


# torch has no bf16 kernel for CUDA ("not implemented for 'BFloat16'"), where tare unscales it: nothing to compare.
NARROW = (torch.bfloat16, torch.float16) if device == "cpu" else (torch.float16,)


def it_unscales_every_dtype(make):
    values = [1.0, -3.0, 1e-30, -0.0, float("inf"), float("nan"), 65504.0]
    results = []
    for dtype in (torch.float32, torch.float64, *NARROW, torch.complex64):
        for numbers in (values[:4], values):
            scaler = started(make, init_scale=700.5)
            optimizer = optimizer_of(torch.tensor(numbers, device=device).to(dtype))
            results += [outcome(scaler.unscale_, optimizer), outcome(scaler.step, optimizer), outcome(scaler.update)]
            results += [scaler.get_scale()] + [None if dtype.is_complex else gradients_of(optimizer)]
    return results


def it_unscales_gradients_of_several_dtypes_together(make):
    scaler = started(make)
    optimizer = optimizer_of(two(), two().double(), *[two().to(dtype) for dtype in NARROW if dtype != torch.float16])
    scaler.step(optimizer)
    return gradients_of(optimizer), weights_of(optimizer)


def it_unscales_gradients_however_they_lie(make):
    image = torch.arange(2.0 * 3 * 4 * 5, device=device).reshape(2, 3, 4, 5)
    base = torch.arange(24.0, device=device).reshape(4, 6)
    results = []
    for gradient in (base.t(), image.to(memory_format=torch.channels_last), image.permute(3, 1, 0, 2), base[:, ::2],
                     base[1:3, 2:].t(), base[0, 0], base[:0], base[:, 1:2], base[:1].t()):
        scaler = started(make, init_scale=3.0)
        optimizer = optimizer_of(two(), gradient)
        scaler.unscale_(optimizer)
        results += [gradients_of(optimizer), gradient.stride(), scaler.step(optimizer), weights_of(optimizer)]
    return results, base  # base[:, ::2] and the like must leave the elements between them alone


def it_refuses_gradients_that_overlap_themselves(make):
    scaler = started(make)
    return outcome(scaler.unscale_, optimizer_of(torch.ones(1, device=device).expand(3)))


def it_unscales_sparse_gradients(make):
    results = []
    for values in ([1.0, 2.0, 4.0], [1.0, 2.0, float("inf")], [3e38, 3e38, 1.0]):
        for coalesced in (False, True):
            gradient = torch.sparse_coo_tensor([[0, 0, 2]], values, (4,), device=device, check_invariants=True)
            scaler = started(make)
            optimizer = optimizer_of(gradient.coalesce() if coalesced else gradient)
            scaler.step(optimizer)
            scaler.update()
            results += [gradients_of(optimizer), weights_of(optimizer), scaler.get_scale()]
    return results


def it_skips_the_optimizer_that_overflowed_alone(make):
    scaler = started(make)
    fine, broken = optimizer_of(two()), optimizer_of(overflowed())
    returned = [scaler.step(fine, lambda: 5.0), scaler.step(broken, lambda: 5.0)]
    scaler.update()
    return returned, weights_of(fine), weights_of(broken), scaler.state_dict()


def it_forgets_an_overflow_when_a_scale_is_given(make):
    scaler = started(make)
    scaler.unscale_(optimizer_of(overflowed()))
    scaler.update(512.0)
    scaler.unscale_(optimizer_of(two()))
    scaler.update()
    return scaler.state_dict()


def it_takes_only_scales_that_torch_takes(make):
    scaler = started(make)
    results = []
    # Into the package's memory anything is written; tare_scaler_set_scale refuses what no gradient survives.
    deadly = [0.0, float("inf")] if is_package else []
    for scale in (0.5, torch.tensor(3.0, device=device), *deadly,
                  torch.ones(2, device=device), torch.ones(1, device=device, requires_grad=True),
                  torch.ones(1, device="meta")):
        results += [outcome(scaler.update, scale), scaler.get_scale(), scaler.scale(two())]
    return results


def it_heeds_what_a_process_group_made_of_found_inf(make):
    results = []
    for kind in ({}, {"fused": True}):
        scaler = started(make)
        optimizer = optimizer_of(two(), **kind)
        scaler.unscale_(optimizer)
        for found in scaler._found_inf_per_device(optimizer).values():
            found.fill_(1)  # another rank's
        scaler.step(optimizer)
        scaler.update()
        results += [weights_of(optimizer), scaler.state_dict()]
    return results


def it_changes_its_parameters_amid_a_step(make):
    results = []
    for gradient in (two(), overflowed()):
        for change in (lambda s: s.set_growth_interval(1), lambda s: s.set_growth_factor(5.0),
                       lambda s: s.set_backoff_factor(0.25), lambda s: s.load_state_dict(s.state_dict())):
            scaler = started(make, growth_interval=2)
            for _ in range(2):
                scaler.step(optimizer_of(gradient.clone()))
                change(scaler)
                scaler.update()
            results += [scaler.state_dict(), scaler.get_growth_factor(), scaler.get_backoff_factor(),
                        scaler.get_growth_interval()]
    return results


def it_scales_whatever_holds_tensors(make):
    scaler = make(init_scale=3.0)
    half = two().half()
    return [scaler.scale(two()), scaler.scale([two(), half]), scaler.scale((two(), [half, (two().bfloat16(),)])),
            list(scaler.scale(t for t in (two(), half))), type(scaler.scale({two()})).__name__,
            scaler.scale(torch.tensor(5, device=device)), scaler.scale([]),
            outcome(scaler.scale, 3), outcome(scaler.scale, [two(), None])]


def it_does_nothing_when_disabled(make):
    scaler = make(enabled=False)
    optimizer = optimizer_of(overflowed())
    outputs = [two()]
    calls = [(scaler.is_enabled,), (scaler.get_scale,), (scaler.state_dict,), (scaler.load_state_dict, {}),
             (scaler.unscale_, optimizer), (scaler.unscale_, optimizer), (scaler.update,), (scaler.update, 7.0),
             (scaler.step, optimizer), (scaler.step, optimizer, lambda: 5.0), (scaler._get_growth_tracker,),
             (scaler.get_growth_factor,), (scaler.get_backoff_factor,), (scaler.get_growth_interval,),
             (scaler.set_growth_factor, 3.0), (scaler.set_backoff_factor, 0.1), (scaler.set_growth_interval, 5)]
    results = [outcome(*call) for call in calls]
    again = pickle.loads(pickle.dumps(scaler))
    return results, scaler.scale(outputs) is outputs, weights_of(optimizer), again.is_enabled()


def it_wants_to_scale_before_it_does_anything_else(make):
    scaler = make()
    optimizer = optimizer_of(two())
    return [outcome(scaler.unscale_, optimizer), outcome(scaler.step, optimizer), outcome(scaler.update),
            outcome(scaler.update, 7.0), outcome(scaler._check_inf_per_device, optimizer), scaler._scale,
            scaler._growth_tracker, scaler.get_scale(), scaler.state_dict()]


def it_refuses_what_comes_twice_or_in_the_wrong_order(make):
    scaler = started(make)
    optimizer, empty = optimizer_of(two()), torch.optim.SGD([torch.nn.Parameter(two())], lr=1.0)
    results = []
    for call in (lambda: scaler.step(optimizer, closure=lambda: 5.0), lambda: scaler.update(),
                 lambda: scaler.unscale_(optimizer), lambda: scaler.unscale_(optimizer), lambda: pickle.dumps(scaler),
                 lambda: scaler.step(optimizer), lambda: scaler.step(optimizer), lambda: scaler.unscale_(optimizer),
                 lambda: scaler.step(empty), lambda: scaler.step(empty), lambda: scaler.unscale_(empty),
                 lambda: scaler.update(), lambda: scaler.update(), lambda: scaler.unscale_(empty),
                 lambda: scaler.update(), lambda: scaler.update(8.0), lambda: scaler.load_state_dict({}),
                 lambda: scaler.step(optimizer)):
        results += [outcome(call), scaler.state_dict(), weights_of(optimizer)]
    return results, outcome(scaler.load_state_dict, {"scale": 1.0})


def it_refuses_factors_that_go_the_wrong_way(make):
    return [isinstance(outcome(make, **options), str) for options in ({"growth_factor": 1.0}, {"backoff_factor": 1.0})]


def it_loads_a_state_before_and_after_the_first_scale(make):
    state = {"scale": 700.5, "growth_factor": 1.5, "backoff_factor": 0.1, "growth_interval": 4, "_growth_tracker": 2}
    results = []
    for extreme in ({}, {"scale": 0.0}, {"scale": float("inf")}, {"_growth_tracker": 9}, {"another": "key"}):
        for make_one in (make, lambda: started(make)):
            scaler = make_one()
            scaler.load_state_dict({**state, **extreme})
            results += [scaler.get_scale(), scaler._get_growth_tracker(), scaler.state_dict(), scaler.scale(two())]
            for _ in range(3):
                scaler.step(optimizer_of(two()))
                scaler.update()
            results += [scaler.state_dict(), scaler._scale, scaler._growth_tracker, scaler._get_scale_async()]
    return results


def it_goes_on_from_a_pickle_or_a_copy(make):
    results = []
    for copied in (lambda scaler: pickle.loads(pickle.dumps(scaler)), copy.deepcopy):
        for scaler in (make(growth_interval=2), started(make, growth_interval=2)):
            for _ in range(3):
                scaler.scale(two())
                scaler.step(optimizer_of(two()))
                scaler.update()
                scaler = copied(scaler)
                results += [scaler.state_dict(), scaler._scale, scaler._growth_factor, scaler._growth_interval]
    return results


def it_lets_fused_optimizers_unscale(make):
    results = []
    for gradient in (two(), overflowed(), two().half(), overflowed().to(NARROW[0])):
        for own in (None, 4.0):
            scaler = started(make, init_scale=700.5)
            optimizer = optimizer_of(gradient.clone(), fused=True)
            called = []
            optimizer.register_step_post_hook(lambda *_: called.append(True))
            if own:
                optimizer.grad_scale = torch.tensor(own, device=device)
            scaler.step(optimizer)
            scaler.update()
            results += [weights_of(optimizer), scaler.state_dict(), called, hasattr(optimizer, "grad_scale"),
                        hasattr(optimizer, "found_inf")]
    return results


class Asking(torch.optim.SGD):
    """As Apex's fused optimizers: takes the scaler itself."""
    _step_supports_amp_scaling = True

    def step(self, closure=None, *, grad_scaler=None):
        found = grad_scaler._check_inf_per_device(self)[torch.device(device)]
        return plain([found, grad_scaler._get_scale_async(), grad_scaler._per_optimizer_states[id(self)]["stage"]])


def it_hands_itself_to_an_optimizer_that_asks(make):
    results = []
    for gradient in (two(), overflowed()):
        scaler = started(make)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch is going to stop this
            results.append(scaler.step(optimizer_of(gradient, kind=Asking)))
        scaler.update()
        results.append(scaler.state_dict())
    return results


def it_takes_a_scale_that_is_assigned(make):
    scaler = started(make)
    scaler._scale = torch.tensor(8.0, device=device)
    optimizer = optimizer_of(two())
    scaler.step(optimizer)
    scaler.update()
    return weights_of(optimizer), scaler.get_scale(), scaler._scale


def it_is_for_cuda_and_off_where_there_is_none(make):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return make.func().is_enabled(), len(caught)


def scales_of_megatron_after_loading_every_step():
    config = '{"policy":"megatron","initial_scale":1024,"hysteresis":2}'
    scaler = mine(config=config)
    scales = []
    for gradient in (overflowed(), two(), overflowed(), overflowed(), two()):
        scaler.scale(gradient)
        scaler.step(optimizer_of(gradient))
        scaler.update()
        scales.append(scaler.get_scale())
        saved = pickle.loads(pickle.dumps(scaler)).state_dict()
        scaler = mine(config=config)
        scaler.load_state_dict(saved)
    return scales


theirs = functools.partial(torch.amp.GradScaler, torch.device(device).type)
mine = functools.partial(torch_scaler.GradScaler, torch.device(device).type)
scenarios = [scenario for name, scenario in list(globals().items()) if name.startswith("it_")]
failed = 0
for scenario in scenarios:
    found = differences(plain(scenario(mine)), plain(scenario(theirs)))
    if found:
        failed += 1
        print(f"{scenario.__name__.replace('_', ' ')}: not as torch, {len(found)} times, first at {found[0]}")
if not is_package and scales_of_megatron_after_loading_every_step() != [1024, 1024, 512, 256, 256]:
    failed += 1
    print("it does not follow Megatron's rule")
print(f"{steps} steps and {len(scenarios)} other scenarios, {device}, torch {torch.__version__}: {failed} differ")
sys.exit(1 if failed else 0)
