"""What a monitor tells of a tensor, beside NumPy's arithmetic: every dtype, at random and at its worst."""
import unittest

try:
    import numpy
except ImportError:
    raise unittest.SkipTest("no numpy: not run") from None

import tare

# bits, exponent's bits, mantissa's, has infinities; of those that NumPy has no word for
SMALL = {tare.BF16: (16, 8, 7, True), tare.F8E4M3FN: (8, 4, 3, False), tare.F8E5M2: (8, 5, 2, True)}
OWN = {tare.F32: (numpy.uint32, numpy.float32), tare.F64: (numpy.uint64, numpy.float64),
       tare.F16: (numpy.uint16, numpy.float16)}
NORMAL = {tare.F32: 2.0 ** -126, tare.F64: 2.0 ** -1022, tare.F16: 2.0 ** -14, tare.BF16: 2.0 ** -126,
          tare.F8E4M3FN: 2.0 ** -6, tare.F8E5M2: 2.0 ** -14}
NAMES = {tare.F32: "f32", tare.F64: "f64", tare.F16: "f16", tare.BF16: "bf16", tare.F8E4M3FN: "f8e4m3fn",
         tare.F8E5M2: "f8e5m2"}


def decoded(bits, dtype):
    """As doubles, by what the formats say."""
    if dtype in OWN:
        with numpy.errstate(invalid="ignore"):  # a nan that signals
            return bits.view(OWN[dtype][1]).astype(numpy.float64)
    _, exponent_bits, mantissa_bits, has_infinities = SMALL[dtype]
    whole = bits.astype(numpy.int64)
    mantissa = whole & (2 ** mantissa_bits - 1)
    exponent = whole >> mantissa_bits & (2 ** exponent_bits - 1)
    bias = 2 ** (exponent_bits - 1) - 1
    magnitude = numpy.where(exponent == 0, mantissa, mantissa + 2 ** mantissa_bits) * numpy.exp2(
        (numpy.maximum(exponent, 1) - bias - mantissa_bits).astype(numpy.float64))
    top = exponent == 2 ** exponent_bits - 1
    if has_infinities:
        magnitude = numpy.where(top, numpy.where(mantissa == 0, numpy.inf, numpy.nan), magnitude)
    else:
        magnitude = numpy.where(top & (mantissa == 2 ** mantissa_bits - 1), numpy.nan, magnitude)
    return numpy.where(whole >> (exponent_bits + mantissa_bits) == 1, -magnitude, magnitude)


def bits_of(dtype):
    return OWN[dtype][0] if dtype in OWN else numpy.uint16 if SMALL[dtype][0] == 16 else numpy.uint8


def nearest(values, dtype):
    """Bits of values in the dtype, by search where NumPy does not round to it."""
    if dtype in OWN:
        with numpy.errstate(over="ignore"):
            return values.astype(OWN[dtype][1]).view(OWN[dtype][0])
    every = numpy.arange(2 ** SMALL[dtype][0], dtype=bits_of(dtype))
    known = decoded(every, dtype)
    every, known = every[numpy.isfinite(known)], known[numpy.isfinite(known)]
    order = numpy.argsort(known, kind="stable")
    return every[order][numpy.clip(numpy.searchsorted(known[order], values), 0, len(order) - 1)]


class Statistics(unittest.TestCase):
    def check(self, bits, dtype):
        bits = numpy.ascontiguousarray(bits)
        monitor = tare.Monitor(every=1)
        monitor.observe("g", {"w": tare.Tensor(bits.ctypes.data, bits.size, dtype)})
        monitor.step(0)
        told = monitor.report().tensors[0]
        values = decoded(bits, dtype)
        finite = values[numpy.isfinite(values)]
        magnitudes = numpy.abs(finite)
        self.assertEqual(told.dtype, NAMES[dtype])
        self.assertEqual(told["count"], values.size)
        self.assertEqual(told.nans, numpy.isnan(values).sum())
        self.assertEqual(told.infinities, numpy.isinf(values).sum())
        self.assertEqual(told.zeros, (finite == 0).sum())
        self.assertEqual(told.subnormals, ((magnitudes > 0) & (magnitudes < NORMAL[dtype])).sum())
        self.check_exponents(told.exponents, magnitudes[magnitudes > 0])
        if not finite.size:
            self.assertEqual({told[name] for name in ("min", "max", "max_abs", "mean", "mean_abs", "std", "norm")}, {None})
            return
        self.assertEqual((told.min, told.max, told.max_abs), (finite.min(), finite.max(), magnitudes.max()))
        exact = finite.astype(numpy.longdouble)
        mean_abs = numpy.abs(exact).mean()
        self.near(told["mean"], exact.mean(), mean_abs)
        self.near(told.mean_abs, mean_abs, mean_abs)
        self.near(told.norm, numpy.sqrt((exact * exact).sum()), numpy.sqrt((exact * exact).sum()))
        self.near(told["std"], exact.std(), max(exact.std(), numpy.longdouble(mean_abs) * 1e-9))

    def near(self, told, expected, size):
        self.assertLessEqual(abs(numpy.longdouble(told) - expected), size * numpy.longdouble(1e-12))

    def check_exponents(self, told, magnitudes):
        exponents = numpy.frexp(magnitudes)[1] - 1
        self.assertEqual(told.lowest, -48)
        self.assertEqual(told.below, (exponents < -48).sum())
        self.assertEqual(told.above, (exponents > 15).sum())
        self.assertEqual(list(told.bins), [int((exponents == exponent).sum()) for exponent in range(-48, 16)])

    def test_every_value_that_a_small_dtype_has(self):
        for dtype in (tare.F16, tare.BF16, tare.F8E4M3FN, tare.F8E5M2):
            with self.subTest(NAMES[dtype]):
                bits = bits_of(dtype)
                self.check(numpy.arange(numpy.iinfo(bits).max + 1, dtype=bits), dtype)

    def test_values_at_random_in_every_range_and_number(self):
        random = numpy.random.default_rng(1910)
        for dtype in NAMES:
            for count in (0, 1, 2, 511, 512, 513, 5000):
                for scale in (1.0, 2.0 ** -20, 1000.0):
                    with self.subTest(NAMES[dtype], count=count, scale=scale):
                        self.check(nearest(random.normal(0, scale, count), dtype), dtype)

    def test_any_bits(self):
        random = numpy.random.default_rng(12385)
        for dtype in NAMES:
            bits = bits_of(dtype)
            for count in (7, 3000):
                with self.subTest(NAMES[dtype], count=count):
                    some = random.integers(0, numpy.iinfo(bits).max, count, dtype=bits, endpoint=True)
                    if dtype == tare.F64:  # squares of the others are no doubles
                        values = some.view(numpy.float64)
                        some = some[~(numpy.abs(values) > 1e150)]
                    self.check(some, dtype)

    def test_sums_that_nearly_cancel_and_values_far_from_zero(self):
        for dtype in NAMES:
            largest = float(numpy.nanmax(decoded(nearest(numpy.array([1e30 if dtype == tare.F64 else 1e5]), dtype), dtype)))
            alternating = numpy.where(numpy.arange(4097) % 2 == 0, largest, -largest)
            with self.subTest(NAMES[dtype]):
                self.check(nearest(alternating, dtype), dtype)
                self.check(nearest(numpy.full(3000, 448.0), dtype), dtype)
                self.check(nearest(400.0 + numpy.arange(3000) % 3 * 0.25, dtype), dtype)

    def test_doubles_whose_squares_are_none_have_magnitudes_and_means(self):
        for values, norm in (([1e200, -1e200, 1.0], numpy.inf), ([1e-200] * 3, 0.0)):
            monitor = tare.Monitor(every=1)
            monitor.observe("g", {"w": numpy.array(values)})
            monitor.step(0)
            told = monitor.report().tensors[0]
            self.assertEqual((told.max_abs, told["min"], told["mean"]), (max(values), min(values), sum(values) / 3))
            self.assertEqual(float(told.norm), norm)

    def test_infinities_and_nan_alone_and_beside_values(self):
        for dtype in (tare.F32, tare.F64, tare.F16):
            of = OWN[dtype]
            for values in ([numpy.nan] * 3, [numpy.inf, -numpy.inf], [numpy.nan, 1, numpy.inf, -2], [0.0, -0.0]):
                with self.subTest(NAMES[dtype], values=values):
                    self.check(numpy.array(values, dtype=of[1]).view(of[0]), dtype)


if __name__ == "__main__":
    unittest.main()
