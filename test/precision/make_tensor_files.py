"""Writes the tensor files that the unit tests of src/precision read. Needs torch; run manually.

Every good file holds the values 0, 1, 2, ... (as far as the type can) in the shape 2 x 3, so that a
test can check all of them alike.
"""

import io
import os
import pickle
import sys
import zipfile

import numpy as np
import torch

OUT = sys.argv[1] if len(sys.argv) > 1 else "src/precision/testdata"


def path(name):
    return os.path.join(OUT, name)


class Evil:
    def __reduce__(self):
        return (os.system, ("echo never run",))


def save_types():
    names = (
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64"
        " float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu"
        " complex64 complex128 complex32"
    ).split()
    base = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    for name in names:
        torch.save(base.to(getattr(torch, name)), path(f"type_{name}.pt"))


def save_shapes():
    base = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    torch.save(base.t().contiguous().t(), path("transposed.pt"))
    torch.save(torch.arange(24, dtype=torch.float32).reshape(2, 12)[:, :3], path("view.pt"))
    torch.save(torch.arange(3, dtype=torch.float32).expand(2, 3), path("expanded.pt"))
    torch.save(torch.arange(10, dtype=torch.float32)[4:], path("offset.pt"))
    torch.save(torch.tensor(7.0), path("scalar.pt"))
    torch.save(torch.zeros(0, 3), path("empty.pt"))
    torch.save(torch.nn.Parameter(base.clone()), path("parameter.pt"))


def save_containers():
    base = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    for protocol in (2, 3, 4, 5):
        torch.save(base, path(f"protocol_{protocol}.pt"), pickle_protocol=protocol)
    torch.save(base, path("legacy.pt"), _use_new_zipfile_serialization=False)
    torch.save(base[:, 1:], path("legacy_view.pt"), _use_new_zipfile_serialization=False)
    torch.save({"a": base}, path("bad_dict.pt"))
    torch.save(Evil(), path("bad_call.pt"))
    with open(path("bad_plain_pickle.pt"), "wb") as file:
        pickle.dump([1, 2, 3], file)
    good = io.BytesIO()
    torch.save(base, good)
    with (
        zipfile.ZipFile(good) as source,
        zipfile.ZipFile(path("bad_compressed.pt"), "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for member in source.namelist():
            target.writestr(member, source.read(member))


def save_npy():
    base = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(path("plain.npy"), base)
    np.save(path("fortran.npy"), np.asfortranarray(base))
    np.save(path("int64.npy"), base.astype(np.int64))
    with open(path("version2.npy"), "wb") as file:
        np.lib.format.write_array(file, base, version=(2, 0))
    # bfloat16 of MindSpore and of ml_dtypes: two bytes an element, under descriptors of their own.
    bits = (base.view(np.uint32) >> 16).astype(np.uint16)
    for name, descr in (("mindspore_bfloat16.npy", "<E2"), ("ml_dtypes_bfloat16.npy", "<V2")):
        header = b"{'descr': '%s', 'fortran_order': False, 'shape': (2,3,), }" % descr.encode()
        header += b" " * (64 - (len(header) + 11) % 64) + b"\n"
        with open(path(name), "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
            file.write(bits.tobytes())
    np.save(path("bad_object.npy"), np.array([{}], dtype=object), allow_pickle=True)
    np.save(path("big_endian.npy"), base.astype(">f4"))
    np.save(path("big_endian_complex.npy"), base.astype(">c8"))


if __name__ == "__main__":
    os.makedirs(OUT, exist_ok=True)
    save_types()
    save_shapes()
    save_containers()
    save_npy()
