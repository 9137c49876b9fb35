"""The signatures that the package gives ctypes are those of tare.h."""
import ctypes
import os
import pathlib
import re
import unittest

from tare import _library, errors, scaler, tensors

FOLDER = pathlib.Path(os.environ["TARE_HEADER"]).parent
HEADER = re.sub(r"/\*.*?\*/", "", "".join(h.read_text() for h in sorted(FOLDER.glob("*.h"))), flags=re.DOTALL)
SIMPLE = {"double": ctypes.c_double, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64,
          "tare_stream": ctypes.c_void_p}
BEHIND_POINTER = {"double": ctypes.c_double, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64,
                  "uint64_t": ctypes.c_uint64, "uint32_t": ctypes.c_uint32, "tare_tensor": _library.TensorStruct,
                  "tare_layer": _library.LayerStruct, "tare_outcome": _library.OutcomeStruct,
                  "tare_collectives": _library.CollectivesStruct, "tare_matrix": _library.MatrixStruct}


def ctype_of(declaration):
    """Of one parameter, as "const tare_tensor* tensors"."""
    kind = re.sub(r"\bconst\b|\w+$", "", declaration).replace(" ", "")
    if kind in SIMPLE:
        return SIMPLE[kind]
    if kind == "char*" or (kind == "void*" and declaration.endswith(" data")):
        return ctypes.c_char_p
    if kind == "char**":
        return ctypes.POINTER(ctypes.c_char_p)
    if kind.endswith("**"):
        return ctypes.POINTER(ctypes.c_void_p)
    pointed = BEHIND_POINTER.get(kind[:-1])
    return ctypes.c_void_p if pointed is None else ctypes.POINTER(pointed)


DECLARED = {name: [ctype_of(" ".join(one.split())) for one in parameters.split(",")[:-1]]
            for name, parameters in re.findall(r"int32_t tare_(\w+)\(([^)]*tare_error\* error)\)", HEADER)}
NUMBERS = dict((name, int(number)) for name, number in re.findall(r"(TARE_\w+) = (\d+)", HEADER))


class Signatures(unittest.TestCase):
    def test_each_is_the_header_s(self):
        for name, arguments in _library.SIGNATURES.items():
            self.assertEqual(list(arguments), DECLARED[name], name)

    def test_structs_have_the_header_s_members_in_its_order(self):
        for struct, name in ((_library.ErrorStruct, "tare_error"), (_library.TensorStruct, "tare_tensor"),
                             (_library.LayerStruct, "tare_layer"), (_library.OutcomeStruct, "tare_outcome"),
                             (_library.SideStruct, "tare_side"), (_library.MatrixStruct, "tare_matrix")):
            body = re.search(r"typedef struct " + name + r" \{(.*?)\}", HEADER, re.DOTALL)[1]
            members = re.findall(r"(\w+)(?:\[\d+\])?;", body)
            self.assertEqual([member for member, _ in struct._fields_], members, name)

    def test_every_status_has_its_exception(self):
        statuses = {number for name, number in NUMBERS.items() if name.startswith("TARE_E_")}
        self.assertEqual(set(errors._BY_STATUS), statuses)

    def test_dtypes_have_the_header_s_numbers(self):
        for name in ("F32", "F64", "F16", "BF16", "F8E4M3FN", "F8E5M2"):
            self.assertEqual(getattr(tensors, name), NUMBERS["TARE_" + name])
        for name in ("SCALE", "INVERSE_SCALE", "FOUND_INF", "NOOP", "MULTIPLIER"):
            self.assertEqual(getattr(scaler, name), NUMBERS["TARE_POINTER_" + name])
        self.assertEqual({NUMBERS["TARE_" + name] for name in ("F32", "F64", "I32", "I64", "BOOL")}, set(scaler._TYPES))


if __name__ == "__main__":
    unittest.main()
