"""tare.torch.GradScaler beside torch.amp.GradScaler: the behaviours that PyTorch's own tests hold it to, and what
programs write into one. Every test does the same with both classes and compares all that it sees."""
import copy
import functools
import io
import itertools
import math
import pickle
import unittest
import warnings

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no torch: not run") from None
if not hasattr(torch.amp, "GradScaler"):
    raise unittest.SkipTest(f"torch {torch.__version__} has no GradScaler for the CPU: not run")

import tare
import tare.torch

INF, NAN = math.inf, math.nan


def seen(value):
    """What can be compared: nan is nan, 0 is not -0."""
    if isinstance(value, torch.Tensor):
        dense = value.detach().to_dense() if value.is_sparse else value.detach()
        return str(value.dtype), tuple(value.shape), repr(dense.double().tolist())
    if isinstance(value, dict):
        return {str(key): seen(item) for key, item in value.items()}
    return [seen(item) for item in value] if isinstance(value, (list, tuple)) else repr(value)


def outcome(call, *arguments, **options):
    try:
        return seen(call(*arguments, **options))
    except Exception as error:
        return f"raises {type(error).__name__}"


def alike(test):
    """Runs the test with either class; what it returns is the same."""
    @functools.wraps(test)
    def run(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(0)
            theirs = seen(test(self, functools.partial(torch.amp.GradScaler, "cpu")))
            torch.manual_seed(0)
            ours = seen(test(self, functools.partial(tare.torch.GradScaler, "cpu")))
        self.assertEqual(ours, theirs)
    return run


def started(make, **options):
    scaler = make(**options)
    scaler.scale(torch.zeros(1))
    return scaler


def optimizer_of(*gradients, kind=torch.optim.SGD, **options):
    parameters = []
    for gradient in gradients:
        parameters.append(torch.nn.Parameter(torch.ones(gradient.shape, dtype=gradient.dtype)))
        parameters[-1].grad = gradient
    return kind(parameters, lr=0.25, **options)


def of(optimizer):
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    return [p for p in parameters], [p.grad for p in parameters]


def two():
    return torch.tensor([2.0, -8.0])


def small_model():
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))


class Training(unittest.TestCase):
    """Loops as PyTorch's test_grad_scaling_* have them, with an overflow in one step."""

    def loop(self, make, step, kinds=((torch.optim.SGD, {}),), count=1):
        history = []
        for kind, options in kinds:
            models = [small_model() for _ in range(count)]
            optimizers = [kind(model.parameters(), lr=0.1, **options) for model in models]
            scaler = make(init_scale=128.0, growth_factor=2.0, growth_interval=2)
            for number in range(6):
                for optimizer in optimizers:
                    optimizer.zero_grad()
                step(scaler, models, optimizers, number)
                scaler.update()
                history.append((scaler.state_dict(), [list(model.parameters()) for model in models]))
        return history

    @staticmethod
    def loss(model, number):
        return model(torch.full((3, 4), 0.5 + number)).square().mean()

    @staticmethod
    def overflow(model, number):
        if number == 2:
            next(model.parameters()).grad[0] = INF

    @alike
    def test_accumulation(self, make):
        def step(scaler, models, optimizers, number):
            for _ in range(2):
                scaler.scale(self.loss(models[0], number) / 2).backward()
            self.overflow(models[0], number)
            scaler.step(optimizers[0])
        return self.loop(make, step)

    @alike
    def test_clipping(self, make):
        def step(scaler, models, optimizers, number):
            scaler.scale(self.loss(models[0], number)).backward()
            torch.nn.utils.clip_grad_norm_(models[0].parameters(), 0.2 * scaler.get_scale())
            self.overflow(models[0], number)
            scaler.step(optimizers[0])
        return self.loop(make, step)

    @alike
    def test_clipping_with_a_separate_unscale(self, make):
        def step(scaler, models, optimizers, number):
            scaler.scale(self.loss(models[0], number)).backward()
            self.overflow(models[0], number)
            scaler.unscale_(optimizers[0])
            norm = torch.nn.utils.clip_grad_norm_(models[0].parameters(), 0.2, error_if_nonfinite=False)
            scaler.step(optimizers[0])
            self.assertEqual(bool(torch.isfinite(norm)), number != 2)
        return self.loop(make, step)

    @alike
    def test_a_gradient_penalty(self, make):
        def step(scaler, models, optimizers, number):
            loss = self.loss(models[0], number)
            scaled = torch.autograd.grad(scaler.scale(loss), models[0].parameters(), create_graph=True)
            norm = torch.stack([(g / scaler.get_scale()).square().sum() for g in scaled]).sum().sqrt()
            scaler.scale(loss + norm).backward()
            self.overflow(models[0], number)
            scaler.step(optimizers[0])
        return self.loop(make, step)

    @alike
    def test_several_models_losses_and_optimizers(self, make):
        def step(scaler, models, optimizers, number):
            first, second = (self.loss(model, number) for model in models)
            scaler.scale(first * 0.3 + second * 0.7).backward(retain_graph=True)
            scaler.scale(second * 0.6 - first * 0.4).backward()
            self.overflow(models[1], number)
            scaler.unscale_(optimizers[0])
            for optimizer in optimizers:
                scaler.step(optimizer)
        return self.loop(make, step, count=2)

    @alike
    def test_autocast_with_plain_foreach_and_fused_optimizers(self, make):
        def step(scaler, models, optimizers, number):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = self.loss(models[0], number)
            scaler.scale(loss).backward()
            self.overflow(models[0], number)
            if number % 2:
                scaler.unscale_(optimizers[0])
            scaler.step(optimizers[0])
        choices = ({"foreach": False}, {"foreach": True}, {"fused": True})
        kinds = [(kind, options) for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW) for options in choices]
        return self.loop(make, step, kinds)

    @alike
    def test_parameters_that_are_swapped_out_between_unscale_and_step(self, make):
        """PyTorch: params_invalidated_with_grads_invalidated, before and after unscale_."""
        results = []
        for grads_too, early in itertools.product((True, False), repeat=2):
            optimizer = optimizer_of(two(), kind=torch.optim.Adam, fused=True)
            scaler = started(make)
            old = optimizer.param_groups[0]["params"][0]
            if not early:
                scaler.unscale_(optimizer)
            new = torch.nn.Parameter(torch.full((2,), 5.0))
            new.grad = old.grad.clone() if not grads_too else torch.tensor([1.0, INF])
            optimizer.param_groups[0]["params"] = [new]
            if early:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            results.append((of(optimizer), scaler.state_dict()))
        return results


class Unscaling(unittest.TestCase):
    @alike
    def test_every_dtype_and_overflow(self, make):
        results = []
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.complex64):
            for values in ([1.0, -3.0, 1e-30, -0.0], [1.0, INF], [-INF, 1.0], [NAN, 1.0]):
                scaler = started(make, init_scale=700.5)
                optimizer = optimizer_of(torch.tensor(values).to(dtype), two())
                results += [outcome(scaler.unscale_, optimizer), outcome(scaler.step, optimizer), outcome(scaler.update),
                            scaler.get_scale(), [str(g) for g in of(optimizer)[1]]]
        return results

    @alike
    def test_sparse(self, make):
        results = []
        for values in ([1.0, 2.0, 4.0], [1.0, 2.0, INF], [3e38, 3e38, 1.0]):
            for dtype in (torch.float32, torch.float16):
                gradient = torch.sparse_coo_tensor([[0, 0, 2]], torch.tensor(values), (4,)).to(dtype)
                scaler = started(make)
                optimizer = optimizer_of(gradient)
                results += [outcome(scaler._check_inf_per_device, optimizer), outcome(scaler.unscale_, optimizer),
                            outcome(scaler.step, optimizer), outcome(scaler.update), of(optimizer), scaler.get_scale()]
        return results

    @alike
    def test_views_gaps_and_overlaps(self, make):
        base = torch.arange(24.0).reshape(4, 6)
        image = torch.arange(120.0).reshape(2, 3, 4, 5)
        results = []
        for gradient in (base.t(), image.to(memory_format=torch.channels_last), base[:, ::2], base[1:3, 2:].t(), base[:0],
                         base[0, 0], torch.ones(1).expand(3)):
            scaler = started(make, init_scale=3.0)
            optimizer = optimizer_of(two(), gradient)
            results += [outcome(scaler.unscale_, optimizer), of(optimizer), gradient.stride()]
        return results, base

    @alike
    def test_no_gradients_at_all(self, make):
        scaler = started(make)
        optimizer = torch.optim.SGD([torch.nn.Parameter(two())], lr=1.0)
        return [outcome(scaler.unscale_, optimizer), outcome(scaler.step, optimizer), outcome(scaler.update)]

    @alike
    def test_fp16_gradients_where_a_program_allows_them(self, make):
        """A known trick: _unscale_grads_ with allow_fp16."""
        scaler = started(make, init_scale=4.0)
        plain = scaler._unscale_grads_
        scaler._unscale_grads_ = lambda optimizer, inv_scale, found_inf, allow_fp16: plain(
            optimizer, inv_scale, found_inf, True)
        optimizer = optimizer_of(two().half())
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        return of(optimizer), scaler.state_dict()

    @alike
    def test_another_inverse_scale_is_what_it_multiplies_by(self, make):
        scaler = started(make, init_scale=4.0)
        optimizer = optimizer_of(two())
        found = scaler._unscale_grads_(optimizer, torch.tensor(0.125), torch.tensor(0.0), False)
        return of(optimizer), found

    @alike
    def test_an_optimizer_that_cannot_be_hashed(self, make):
        class Unhashable(torch.optim.SGD):
            __hash__ = None

            def __eq__(self, other):
                return self is other
        scaler = started(make)
        optimizer = optimizer_of(two(), kind=Unhashable)
        scaler.step(optimizer)
        scaler.update()
        return of(optimizer), scaler.state_dict()


class Hooks(unittest.TestCase):
    """What subclasses override is called, with what torch calls it with."""

    def both(self, body):
        results = [body(base) for base in (torch.amp.GradScaler, tare.torch.GradScaler)]
        self.assertEqual(seen(results[0]), seen(results[1]))

    def test_each_hook_is_called(self):
        def body(base):
            called = []

            class Hooked(base):
                def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
                    called.append(("unscale", float(inv_scale), float(found_inf), allow_fp16))
                    return super()._unscale_grads_(optimizer, inv_scale, found_inf, allow_fp16)

                def _maybe_opt_step(self, optimizer, optimizer_state, *args, **kwargs):
                    called.append(("step", sum(f.item() for f in optimizer_state["found_inf_per_device"].values())))
                    return super()._maybe_opt_step(optimizer, optimizer_state, *args, **kwargs)

                def _check_inf_per_device(self, optimizer):
                    called.append("check")
                    return super()._check_inf_per_device(optimizer)

                def _lazy_init_scale_growth_tracker(self, dev):
                    called.append(str(dev))
                    return super()._lazy_init_scale_growth_tracker(dev)
            scaler = started(functools.partial(Hooked, "cpu"), init_scale=8.0)
            for kind in ({}, {"fused": True}):
                scaler.step(optimizer_of(two(), **kind))
                scaler.update()
            return called, scaler.state_dict()
        self.both(body)

    def test_a_hook_that_looks_by_itself_decides(self):
        def body(base):
            class Own(base):
                def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
                    return {inv_scale.device: torch.ones(())}
            scaler = started(functools.partial(Own, "cpu"), init_scale=8.0)
            optimizer = optimizer_of(two())
            scaler.step(optimizer)
            scaler.update()
            return of(optimizer), scaler.state_dict()
        self.both(body)

    @alike
    def test_passes_itself_to_an_optimizer_that_asks(self, make):
        class Asking(torch.optim.SGD):
            _step_supports_amp_scaling = True

            def step(self, closure=None, *, grad_scaler=None):
                return seen([grad_scaler._check_inf_per_device(self), grad_scaler._get_scale_async()])
        scaler = started(make)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answer = scaler.step(optimizer_of(torch.tensor([INF]), kind=Asking))
        scaler.update()
        return answer, [warning.category.__name__ for warning in caught], scaler.state_dict()


class Writing(unittest.TestCase):
    """What programs write into a GradScaler counts, and what it writes is seen where they hold it."""

    @staticmethod
    def step(scaler, gradient):
        optimizer = optimizer_of(gradient)
        scaler.step(optimizer)
        scaler.update()
        return of(optimizer), scaler.state_dict(), scaler._scale, scaler._growth_tracker

    def changed(self, change):
        def body(make):
            scaler = started(make, growth_interval=3)
            held = scaler._scale, scaler._growth_tracker
            change(scaler)
            return [self.step(scaler, gradient) for gradient in (two(), two(), torch.tensor([INF]), two())], held
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours, theirs = body(functools.partial(tare.torch.GradScaler, "cpu")), body(
                functools.partial(torch.amp.GradScaler, "cpu"))
        self.assertEqual(seen(ours), seen(theirs))

    def test_scale_and_tracker_filled_in_place(self):
        self.changed(lambda s: s._scale.fill_(256.0))
        self.changed(lambda s: s._growth_tracker.fill_(2))
        self.changed(lambda s: s._scale.mul_(0.5).add_(3))
        self.changed(lambda s: s._scale.data.copy_(torch.tensor(12.0)))

    def test_tensors_put_in_their_place(self):
        self.changed(lambda s: setattr(s, "_scale", torch.tensor(96.0)))
        self.changed(lambda s: setattr(s, "_growth_tracker", torch.tensor(2, dtype=torch.int32)))
        mine = torch.tensor(96.0)

        def put(scaler):
            scaler._scale = mine
        for make in (torch.amp.GradScaler, tare.torch.GradScaler):
            mine.fill_(96.0)
            scaler = started(functools.partial(make, "cpu"))
            put(scaler)
            self.step(scaler, torch.tensor([INF]))
            self.assertEqual(mine.item(), 48.0)
            mine.fill_(8.0)
            self.assertEqual(scaler.get_scale(), 8.0)
            self.assertEqual(self.step(scaler, torch.tensor([INF]))[1]["scale"], 4.0)

    def test_parameters_written_and_set(self):
        self.changed(lambda s: setattr(s, "_growth_factor", 1.7))
        self.changed(lambda s: setattr(s, "_backoff_factor", 0.3))
        self.changed(lambda s: setattr(s, "_growth_interval", 1))
        self.changed(lambda s: s.set_growth_factor(0.5))
        self.changed(lambda s: s.set_backoff_factor(2.0))
        self.changed(lambda s: s.set_growth_interval(0))

    def test_scales_that_are_none(self):
        for scale in (0.0, -1.0, INF, NAN, 1e-45):
            self.changed(lambda s, scale=scale: s.update(scale))
            self.changed(lambda s, scale=scale: s._scale.fill_(scale))

    @alike
    def test_parameters_of_types_that_torch_s_rule_does_not_take(self, make):
        def told(name, value, interval=1):
            scaler = started(make, growth_interval=interval)
            getattr(scaler, "set_" + name)(value)
            scaler.step(optimizer_of(two()))
            return outcome(scaler.update), scaler._scale, scaler._growth_tracker
        return ([told("growth_interval", interval, 2) for interval in (2.0, 2.5, True, "3", None, 1, -1, 2**40)],
                [told("backoff_factor", factor) for factor in (None, "0.5", 0, True)],
                [told("growth_factor", factor) for factor in (None, "2", 2, 1.5, torch.tensor(4.0))])

    @alike
    def test_a_loss_scaled_before_an_update_does_not_go_back_through_it(self, make):
        scaler, parameter = make(init_scale=4.0), torch.nn.Parameter(torch.ones(2))
        before = scaler.scale(parameter.sum())
        scaler.scale(parameter.sum()).backward()
        scaler.step(torch.optim.SGD([parameter], lr=0.25))
        told = [outcome(before.backward, retain_graph=True)]
        scaler.update()
        return [*told, outcome(before.backward), outcome(scaler.scale(parameter.sum()).backward)]

    @alike
    def test_preset_before_the_first_step(self, make):
        """PyTorch: test_grad_scaling_update_scale_preset ..."""
        scaler = make(init_scale=4.0)
        scaler._init_scale = 32.0
        scaler._init_growth_tracker = 5
        before = scaler.state_dict()
        scaler._lazy_init_scale_growth_tracker(torch.device("cpu"))
        again = outcome(scaler._lazy_init_scale_growth_tracker, torch.device("cpu"))
        return before, again, self.step(scaler, two()), [
            outcome(lambda scale=scale: started(make, init_scale=scale).get_scale()) for scale in (INF, 1e300, 0.0, 3)]

    @alike
    def test_found_inf_replaced(self, make):
        scaler = started(make)
        optimizer = optimizer_of(two())
        scaler.unscale_(optimizer)
        state = scaler._per_optimizer_states[id(optimizer)]
        state["found_inf_per_device"] = {torch.device("cpu"): torch.tensor(1.0)}
        scaler.step(optimizer)
        scaler.update()
        return of(optimizer), scaler.state_dict()

    @alike
    def test_found_inf_reduced_among_ranks(self, make):
        """+1 and -1 cancel, nan counts: as torch sums them."""
        results = []
        for others in ([1.0], [-1.0, 1.0], [NAN], [0.5, 0.25], []):
            scaler = started(make)
            optimizers = [optimizer_of(two()) for _ in others] or [optimizer_of(two())]
            for optimizer, value in itertools.zip_longest(optimizers, others, fillvalue=0.0):
                scaler.unscale_(optimizer)
                for found in scaler._found_inf_per_device(optimizer).values():
                    found.fill_(value)
            scaler.update()
            results.append(scaler.state_dict())
        return results

    @alike
    def test_found_inf_is_each_optimizer_s_own(self, make):
        scaler = started(make)
        fine, broken = optimizer_of(two()), optimizer_of(torch.tensor([INF]))
        for optimizer in (fine, broken):
            scaler.unscale_(optimizer)
        kept = [scaler._found_inf_per_device(optimizer) for optimizer in (fine, broken)]
        for optimizer in (fine, broken):
            scaler.step(optimizer)
        scaler.update()
        scaler.unscale_(fine)
        return kept, of(fine), of(broken)

    def test_the_tensors_are_the_library_s_memory(self):
        scaler = started(functools.partial(tare.torch.GradScaler, "cpu"), init_scale=8.0)
        running = scaler._running[torch.device("cpu")]
        self.assertEqual(scaler._scale.data_ptr(), running._scaler.memory("scale").address)
        scaler._scale.fill_(96.0)
        self.assertEqual(running._scaler.scale, 96.0)

    def test_tensors_outlive_the_scaler(self):
        scale = started(functools.partial(tare.torch.GradScaler, "cpu"), init_scale=8.0)._scale
        for _ in range(100):
            started(functools.partial(tare.torch.GradScaler, "cpu"), init_scale=16.0)
        self.assertEqual(scale.item(), 8.0)


class States(unittest.TestCase):
    STATE = {"scale": 700.5, "growth_factor": 1.5, "backoff_factor": 0.1, "growth_interval": 4, "_growth_tracker": 2}

    @alike
    def test_state_dict_before_and_after_the_first_scale(self, make):
        results = []
        for made in (make, lambda **options: started(make, **options)):
            scaler = made(init_scale=2.0)
            scaler.load_state_dict(self.STATE)
            results += [scaler.state_dict(), scaler.get_scale(), scaler._get_growth_tracker(), scaler.scale(two())]
            for _ in range(3):
                results.append(Writing.step(scaler, two()))
        return results

    @alike
    def test_disabled(self, make):
        scaler = make(enabled=False)
        optimizer = optimizer_of(two())
        return [scaler.scale(two()), outcome(scaler.unscale_, optimizer), outcome(scaler.step, optimizer),
                outcome(scaler.update), scaler.state_dict(), outcome(scaler.load_state_dict, {}), scaler.get_scale(),
                of(optimizer), pickle.loads(pickle.dumps(scaler)).is_enabled()]

    @alike
    def test_pickled_copied_and_saved(self, make):
        def saved(scaler):
            file = io.BytesIO()
            torch.save(scaler, file)
            return torch.load(io.BytesIO(file.getvalue()), weights_only=False)
        results = []
        for copied in (lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy, saved):
            scaler = started(make, growth_interval=2)
            for _ in range(3):
                results.append(Writing.step(scaler, two()))
                scaler = copied(scaler)
                results += [scaler._scale, scaler._init_scale, scaler._init_growth_tracker]
                scaler.scale(two())
            scaler.unscale_(optimizer_of(two()))
            results.append(outcome(pickle.dumps, scaler))
        return results

    @alike
    def test_calls_in_the_wrong_order(self, make):
        scaler = make()
        optimizer = optimizer_of(two())
        results = [outcome(call) for call in (lambda: scaler.unscale_(optimizer), lambda: scaler.step(optimizer),
                                              scaler.update, lambda: scaler.update(7.0))]
        scaler.scale(two())
        for call in (scaler.update, lambda: scaler.step(optimizer, closure=lambda: 1.0), lambda: scaler.unscale_(optimizer),
                     lambda: scaler.unscale_(optimizer), lambda: scaler.step(optimizer), lambda: scaler.step(optimizer),
                     lambda: scaler.unscale_(optimizer), scaler.update, lambda: scaler.load_state_dict({}),
                     lambda: scaler.load_state_dict({"scale": 1.0}), lambda: scaler.update(torch.ones(2)),
                     lambda: scaler.update(torch.ones(1, requires_grad=True)), lambda: scaler.update(3),
                     lambda: scaler.scale(3), lambda: scaler.scale([two(), None])):
            results.append(outcome(call))
        return results, outcome(make, growth_factor=1.0), outcome(make, backoff_factor=1.0)

    def test_a_state_of_another_policy_is_refused_and_changes_nothing(self):
        scaler = started(functools.partial(tare.torch.GradScaler, "cpu"), init_scale=8.0)
        before = scaler.state_dict()
        megatron = {"scale": torch.tensor([4.0]), "growth_tracker": 1, "hysteresis_tracker": 2}
        with self.assertRaises(KeyError):
            scaler.load_state_dict(megatron)
        with self.assertRaises(tare.Mismatch):
            scaler.load_state_dict({"policy": "megatron", "fields": {"scale": 4.0}})
        self.assertEqual(scaler.state_dict(), before)

    def test_a_state_of_tare_s_own_is_taken(self):
        scaler = started(functools.partial(tare.torch.GradScaler, "cpu"))
        state = tare.Scaler("torch", initial_scale=96.0, growth_interval=5).save()
        scaler.load_state_dict(tare.answers.answer_of(state.to_json()))
        self.assertEqual((scaler.get_scale(), scaler.get_growth_interval()), (96.0, 5))

    def test_is_a_grad_scaler_and_warns_as_one(self):
        self.assertTrue(issubclass(tare.torch.GradScaler, torch.amp.GradScaler))
        if torch.cuda.is_available():
            self.skipTest("there is a GPU: not run")
        for make in (torch.amp.GradScaler, tare.torch.GradScaler):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.assertFalse(make().is_enabled())
            self.assertEqual(len(caught), 1)


if __name__ == "__main__":
    unittest.main()
