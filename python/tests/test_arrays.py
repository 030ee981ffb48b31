"""Arrays go in as copies and out without one; what does not fit is refused by name."""

import ctypes
import gc
import sys
import unittest

import numpy as np

from tapegrad import ArgumentError, ShapeError, float32, float64

PRECISIONS = [(float32, np.float32), (float64, np.float64)]


class ArraysIn(unittest.TestCase):
    def test_any_numbers_and_strides_are_copied(self):
        whole = np.arange(24).reshape(2, 3, 4)
        for tg, real in PRECISIONS:
            for dtype in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                          "float32", "float64"):
                array = whole.astype(dtype)
                for view in (array, array.T, array[:, ::-1], array[::1, 1:, ::3], np.asfortranarray(array),
                             array[0, 0, 0]):
                    found = np.asarray(tg.Tensor(np.asarray(view)))
                    np.testing.assert_array_equal(found, view.astype(real), err_msg=dtype)
                    self.assertEqual(found.dtype, real)

    def test_a_copy_does_not_follow_its_source(self):
        for tg, real in PRECISIONS:
            array = np.ones(3, real)
            tensor = tg.Tensor(array)
            array[:] = 7
            np.testing.assert_array_equal(tensor.numpy(), [1, 1, 1])

    def test_read_only_and_empty_arrays(self):
        array = np.arange(3.0)
        array.flags.writeable = False
        for tg, _ in PRECISIONS:
            np.testing.assert_array_equal(tg.Tensor(array).numpy(), array)
            for shape in ((0,), (2, 0, 3)):
                empty = tg.Tensor(np.zeros(shape))
                self.assertEqual(empty.shape, shape)
                self.assertEqual(empty.numpy().shape, shape)
                self.assertEqual(tg.sum(empty).item(), 0)

    def test_numbers_and_lists(self):
        for tg, _ in PRECISIONS:
            self.assertEqual(tg.Tensor(2).shape, ())
            np.testing.assert_array_equal(tg.Tensor([[1, 2], [3, 4.5]]).numpy(), [[1, 2], [3, 4.5]])
            self.assertFalse(tg.Tensor().defined)

    def test_other_elements_are_refused(self):
        for tg, _ in PRECISIONS:
            for array in (np.zeros(2, complex), np.zeros(2, np.float16)):
                with self.assertRaisesRegex(ArgumentError, "Tensor: .*(another type|cannot read)"):
                    tg.Tensor(array)
            for other in ("text", object(), np.array(["a"]), np.zeros(2, ">f4"), None, {}):
                with self.assertRaisesRegex(ArgumentError, "Tensor: cannot read"):
                    tg.Tensor(other)
            with self.assertRaisesRegex(ArgumentError, "Indices: elements of another type"):
                tg.Indices(np.zeros(2))
            with self.assertRaises(ShapeError):
                tg.Tensor(np.zeros((1,) * 9))

    def test_functions_take_no_arrays(self):
        for tg, real in PRECISIONS:
            array, tensor = np.ones(3, real), tg.ones([3])
            for call in (lambda: tg.exp(array), lambda: tensor + array, lambda: array * tensor,
                         lambda: tg.Linear(3, 2, tg.Random(1))(array)):
                with self.assertRaises(TypeError):
                    call()


class Producer:
    """An array of two float32 on a device of any number, with DLPack's structs in ctypes. `released` counts the calls
    of its deleter."""

    class Managed(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("device_id", ctypes.c_int32),
                    ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                    ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                    ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
                    ("context", ctypes.c_void_p), ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]

    def __init__(self, device):
        self.elements, self.shape = (ctypes.c_float * 2)(3, 4), (ctypes.c_int64 * 1)(2)
        self.released = 0
        self.managed = self.Managed(ctypes.addressof(self.elements), device, 0, 1, 2, 32, 1, self.shape, None, 0, None,
                                    self.Managed._fields_[-1][1](self.release))

    def release(self, _):
        self.released += 1

    def __dlpack__(self, **_):
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return capsule(ctypes.addressof(self.managed), b"dltensor", None)

    def __dlpack_device__(self):
        return (self.managed.device, 0)


class Devices(unittest.TestCase):
    def test_another_device_is_refused(self):
        for tg, _ in PRECISIONS:
            here, gpu = Producer(1), Producer(2)
            np.testing.assert_array_equal(tg.Tensor(here).numpy(), [3, 4])
            with self.assertRaisesRegex(ArgumentError, "another device: DLPack's number 2; copy it to the CPU"):
                tg.Tensor(gpu)
            self.assertEqual((here.released, gpu.released), (1, 1))


class ArraysOut(unittest.TestCase):
    def test_numpy_shares_the_elements(self):
        for tg, _ in PRECISIONS:
            tensor = tg.Tensor([1.0, 2.0])
            one, other = tensor.numpy(), np.asarray(tensor)
            self.assertEqual(one.ctypes.data, other.ctypes.data)
            self.assertFalse(one.flags.writeable)
            with self.assertRaises(ValueError):
                one[0] = 3

    def test_elements_outlive_their_tensor(self):
        for tg, _ in PRECISIONS:
            views = [tg.Tensor(np.full(1000, i)).numpy() for i in range(100)]
            gc.collect()
            fresh = [tg.full([1000], -1) for _ in range(100)]
            for i, view in enumerate(views):
                self.assertTrue((view == i).all())
            self.assertEqual(len(fresh), 100)

    def test_dlpack(self):
        for tg, real in PRECISIONS:
            tensor = tg.Tensor(np.arange(6).reshape(2, 3))
            self.assertEqual(tensor.__dlpack_device__(), (1, 0))
            again = tg.Tensor(tensor.numpy())
            np.testing.assert_array_equal(again.numpy(), tensor.numpy())
            other = (float64 if tg is float32 else float32).Tensor(tensor)  # through DLPack
            np.testing.assert_array_equal(other.numpy(), tensor.numpy())
            if np.lib.NumpyVersion(np.__version__) >= "2.1.0":  # reads capsules that are read-only
                shared = np.from_dlpack(tensor)
                self.assertEqual(shared.ctypes.data, tensor.numpy().ctypes.data)
                self.assertFalse(shared.flags.writeable)
                self.assertEqual(shared.dtype, real)

    def test_indices(self):
        for tg, _ in PRECISIONS:
            labels = tg.Indices(np.array([[0, 2], [1, 1]], np.int32))
            np.testing.assert_array_equal(labels.numpy(), [[0, 2], [1, 1]])
            self.assertEqual(labels.numpy().dtype, np.int64)
            np.testing.assert_array_equal(labels.reshape([-1]).numpy(), [0, 2, 1, 1])

    def test_array_with_options(self):
        tensor = float32.Tensor([1.5, 2])
        self.assertEqual(np.asarray(tensor, dtype="float64").dtype, np.float64)
        copy = np.array(tensor, copy=True)
        copy[0] = 9
        self.assertEqual(tensor[0].item(), 1.5)


class References(unittest.TestCase):
    def test_ten_thousand_calls_leave_none(self):
        for tg, _ in PRECISIONS:
            array = np.arange(12.0).reshape(3, 4)
            tensor = tg.Tensor(array)
            function = tg.exp
            watched = (array, tensor, function, tg.Tensor, np.float64, None)

            def call():
                with tg.Tape():
                    x = tg.watch(tg.Tensor(array))
                    tg.grad(tg.sum(tg.exp(x * 0.1) + tensor), x).numpy()
                with self.assertRaises(ShapeError):
                    tg.matmul(tensor, tensor)

            for _ in range(10):
                call()
            gc.collect()
            before = [sys.getrefcount(one) for one in watched]
            blocks = sys.getallocatedblocks()
            for _ in range(10_000):
                call()
            gc.collect()
            after = [sys.getrefcount(one) for one in watched]
            for was, now in zip(before, after):
                self.assertLess(abs(now - was), 50)
            self.assertLess(sys.getallocatedblocks() - blocks, 2000)


if __name__ == "__main__":
    unittest.main()
