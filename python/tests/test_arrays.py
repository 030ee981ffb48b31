"""Arrays go in as copies or shared, and out without a copy; what does not fit is refused by name."""

import ctypes
import gc
import sys
import threading
import unittest
import weakref

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

    def test_elements_of_another_device_are_not_shared(self):
        for tg, _ in PRECISIONS:
            gpu = Producer(2)
            with self.assertRaisesRegex(ArgumentError, "from_dlpack: the array is on another device"):
                tg.from_dlpack(gpu)
            self.assertEqual(gpu.released, 1)


class ArraysShared(unittest.TestCase):
    def assert_gone(self, *references):
        gc.collect()
        self.assertFalse([reference for reference in references if reference() is not None])

    def assert_here(self, reference):
        gc.collect()
        self.assertIsNotNone(reference())

    def test_elements_stay_where_they_are(self):
        for tg, real in PRECISIONS:
            array = np.arange(6, dtype=real).reshape(2, 3)
            tensor = tg.from_dlpack(array)
            self.assertEqual(tensor.shape, (2, 3))
            self.assertEqual(tensor.numpy().ctypes.data, array.ctypes.data)
            self.assertEqual(tg.from_dlpack(tensor).numpy().ctypes.data, array.ctypes.data)
            self.assertEqual(tg.reshape(tensor, [6]).numpy().ctypes.data, array.ctypes.data)
            self.assertEqual(tensor[1].numpy().ctypes.data, array[1].ctypes.data)
            np.testing.assert_array_equal(tg.exp(tensor).numpy(), tg.exp(tg.Tensor(array)).numpy())
            array[0, 0] = 7
            self.assertEqual(tensor[0, 0].item(), 7)
            self.assertEqual(tg.Tensor(tensor).numpy().ctypes.data, array.ctypes.data)

    def test_any_contiguous_elements(self):
        for tg, real in PRECISIONS:
            whole = np.arange(24, dtype=real).reshape(2, 3, 4)
            read_only = whole.copy()
            read_only.flags.writeable = False
            for array in (whole, whole[1], whole[1, 1:], whole[0, 0, 1:3], whole[:, :1, :1][:1], whole[0, 0, 0, None],
                          np.asarray(real(3)), read_only, np.frombuffer(whole.tobytes(), real)):
                tensor = tg.from_dlpack(array)
                np.testing.assert_array_equal(tensor.numpy(), array)
                self.assertEqual(tensor.numpy().ctypes.data, array.ctypes.data)
                self.assertFalse(tensor.numpy().flags.writeable)
            buffer = bytearray(whole.tobytes())
            np.testing.assert_array_equal(tg.from_dlpack(memoryview(buffer).cast(np.dtype(real).char)), whole.ravel())
            for shape in ((0,), (2, 0, 3)):
                empty = tg.from_dlpack(np.zeros(shape, real))
                self.assertEqual(empty.shape, shape)
                self.assertEqual(tg.sum(empty).item(), 0)

    def test_what_cannot_be_shared_is_refused(self):
        for tg, real in PRECISIONS:
            other = np.float64 if real is np.float32 else np.float32
            whole = np.arange(24, dtype=real).reshape(2, 3, 4)
            odd = np.frombuffer(bytes(41), real, count=4, offset=1)
            for array, words in ((whole.astype(other), "elements of another type: DLPack's code 2 of "),
                                 (whole.astype(int), "elements of another type: DLPack's code 0 of 64 bits; copy them"),
                                 (whole.astype(np.dtype(real).newbyteorder()), "cannot read: .*byte order"),
                                 (odd, "cannot share values at .*, not a multiple of "),
                                 (whole.T, r"row-major order: \(4, 3, 2\); copy it: Tensor\(x\)"),
                                 (whole[:, ::-1], "row-major order"), (whole[..., ::2], "row-major order"),
                                 ([1.0], "from_dlpack: cannot read: <class 'list'>; give an array"),
                                 (2.0, "from_dlpack: cannot read"), (None, "from_dlpack: cannot read"),
                                 ("text", "from_dlpack: cannot read")):
                count = sys.getrefcount(array)
                with self.assertRaisesRegex(ArgumentError, words):
                    tg.from_dlpack(array)
                self.assertEqual(sys.getrefcount(array), count)
            with self.assertRaises(ShapeError):
                tg.from_dlpack(np.zeros((1,) * 9, real))

    def test_the_last_tensor_frees_the_array(self):
        for tg, real in PRECISIONS:
            array = np.ones(1000, real)
            gone = weakref.ref(array)
            tensor = tg.from_dlpack(array)
            del array
            self.assert_here(gone)
            view = tensor[10:20]
            del tensor
            self.assert_here(gone)
            numpy_view = view.numpy()
            del view
            self.assert_here(gone)
            part = numpy_view[3:5]
            del numpy_view
            self.assert_here(gone)
            np.testing.assert_array_equal(part, [1, 1])
            del part
            self.assert_gone(gone)

    def test_a_tape_keeps_the_array(self):
        for tg, real in PRECISIONS:
            array = np.arange(4, dtype=real)
            gone = weakref.ref(array)
            with tg.Tape():
                x = tg.watch(tg.ones([4]))
                y = tg.sum(x * tg.from_dlpack(array))
                del array
                self.assert_here(gone)
                fresh = [np.full(4, -1, real) for _ in range(100)]
                np.testing.assert_array_equal(tg.grad(y, x).numpy(), [0, 1, 2, 3])
                self.assert_gone(gone)  # with the rules of the sweep
            array = np.arange(4, dtype=real)
            gone = weakref.ref(array)
            with tg.Tape(keep_values=True):
                x = tg.watch(tg.from_dlpack(array))
                del array
                np.testing.assert_array_equal(tg.grad(tg.sum(tg.square(x)), x).numpy(), [0, 2, 4, 6])
                del x
                self.assert_here(gone)
            self.assert_gone(gone)
            self.assertEqual(len(fresh), 100)

    def test_training_leaves_the_array_alone(self):
        for tg, real in PRECISIONS:
            array = np.arange(4, dtype=real)
            gone = weakref.ref(array)
            weight = tg.Parameter(tg.from_dlpack(array))
            self.assertEqual(weight.value.numpy().ctypes.data, array.ctypes.data)
            tg.Sgd([weight], learning_rate=1).step([tg.ones([4])])
            np.testing.assert_array_equal(weight.value.numpy(), [-1, 0, 1, 2])
            np.testing.assert_array_equal(array, [0, 1, 2, 3])
            del array
            self.assert_gone(gone)

    def test_threads(self):
        for tg, real in PRECISIONS:
            arrays = [np.full(1000, i, real) for i in range(8)]
            references = [weakref.ref(array) for array in arrays]
            tensors = [tg.from_dlpack(array) for array in arrays]
            del arrays
            sums = [0.0] * len(tensors)

            def take(i):
                tensor, tensors[i] = tensors[i], None
                for _ in range(100):
                    sums[i] = tg.sum(tg.reshape(tensor, [10, 100]) * 1).item()

            threads = [threading.Thread(target=take, args=[i]) for i in range(len(tensors))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sums, [1000.0 * i for i in range(8)])
            self.assert_gone(*references)

    def test_a_step_may_run_when_an_array_goes(self):
        for tg, real in PRECISIONS:
            array, found = np.ones(3, real), []
            callback = weakref.finalize(array, lambda: found.append(tg.sum(tg.ones([3])).item()))
            tensor = tg.from_dlpack(array)
            del array
            self.assertTrue(callback.alive)
            tensor = tg.exp(tensor)
            self.assertEqual(found, [3])
            self.assertEqual(tensor.shape, (3,))

    def test_an_array_of_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is not installed")
        for tg, real in PRECISIONS:
            theirs = torch.arange(6, dtype=getattr(torch, real.__name__)).reshape(2, 3)
            tensor = tg.from_dlpack(theirs)
            self.assertEqual(tensor.numpy().ctypes.data, theirs.data_ptr())
            self.assertEqual(torch.from_dlpack(tensor).data_ptr(), theirs.data_ptr())
            theirs[0, 0] = 7
            del theirs
            np.testing.assert_array_equal(tensor.numpy(), [[7, 1, 2], [3, 4, 5]])
            self.assertEqual(tg.from_dlpack(torch.zeros(0, dtype=getattr(torch, real.__name__))).shape, (0,))
            with self.assertRaisesRegex(ArgumentError, "requires a gradient, .*; give x.detach"):
                tg.from_dlpack(torch.ones(2, requires_grad=True))


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
        for tg, real in PRECISIONS:
            array = np.arange(12.0).reshape(3, 4)
            tensor = tg.Tensor(array)
            function = tg.exp
            own = np.arange(12, dtype=real).reshape(3, 4)
            watched = (array, own, tensor, function, tg.Tensor, np.float64, None)

            def call():
                with tg.Tape():
                    x = tg.watch(tg.from_dlpack(own) + tg.Tensor(array))
                    tg.grad(tg.sum(tg.exp(x * 0.1) + tensor), x).numpy()
                with self.assertRaises(ShapeError):
                    tg.matmul(tensor, tensor)
                with self.assertRaises(ArgumentError):
                    tg.from_dlpack(own.T)

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
