"""Writes the inputs that fuzzers begin with, and what they have found since then.

Usage: make_corpus.py DIR
"""

import io
import json
import pathlib
import struct
import zipfile

from corpus_files import packed, write

GOLDEN = pathlib.Path(__file__).parent.parent / "golden"


def idx(extents, values):
    return struct.pack(f">I{len(extents)}I", 0x800 | len(extents), *extents) + values


def safetensors(header, values=b""):
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + values


def tensors(named, metadata=None):
    """named: a dictionary from names to type, shape and bytes."""
    header, values = {}, b""
    for name, (kind, shape, content) in named.items():
        header[name] = {"dtype": kind, "shape": shape,
                        "data_offsets": [len(values), len(values) + len(content)]}
        values += content
    if metadata:
        header["__metadata__"] = metadata
    return safetensors(header, values)


def f32(*values):
    return struct.pack(f"<{len(values)}f", *values)


images = idx([2, 1, 2], b"\0\x80\xff\x01")
labels = idx([2], b"\x01\0")
write("idx", "images", images)
write("idx", "labels", labels)
write("idx", "labels_packed", packed(labels))
write("idx", "too_many_values", idx([2, 0xFFFFFFFF, 0xFFFFFFFF], b""))
write("idx", "cut_header", images[:10])

write("gzip", "plain", "a text")
write("gzip", "empty", "")
write("gzip", "packed", packed(b"a text"))
write("gzip", "two_members", packed(b"a") + packed(b"b"))
write("gzip", "cut", packed(b"a text of some length")[:-6])
write("gzip", "damaged_sum", packed(b"a text")[:-8] + bytes(8))
write("gzip", "garbage_behind", packed(b"a") + b"garbage")
write("gzip", "bomb", packed(bytes(1 << 16)))

for name in ("b1", "f4", "i8", "scalar", "empty", "fortran", "version_2", "f2_limits", "u8_limits", "big_f2", "big_f4",
             "big_i8", "big_u8"):
    write("npy", name, (GOLDEN / f"npy/{name}.npy").read_bytes())
f4 = (GOLDEN / "npy/f4.npy").read_bytes()
shape = b"(2, 3), }"
write("npy", "cut", f4[:100])
write("npy", "long_header", f4.replace(b"\x01\0v\0", b"\x01\0\xff\xff"))
write("npy", "no_shape", f4.replace(b"'shape'", b"'descr'"))
write("npy", "too_many", f4.replace(shape, b"(4294967296, 4294967296)}"))
write("npy", "extent_out_of_range", f4.replace(shape, b"(99999999999999999999)}"))
write("npy", "many_axes", f4.replace(shape, b"(1,1,1,1,1,1,1,1,1)}"))

write("csv", "plain", "1,-2.5\n3e2,.5\n")
write("csv", "names", "a,b\r\n1,2\r\n3,4\r\n")
write("csv", "quoted", '"a ""b""","c\n,"\n"1",2\n')
write("csv", "behind_a_quote", '1,"2"3\n')
write("csv", "byte_order_mark", "\ufeffa\n1\n")
write("csv", "packed", packed(b"1\n2"))
write("csv", "ragged", "1,2\n3\n")
write("csv", "cut", '1,"2\n')
write("csv", "empty", "")
write("csv", "not_finite", "nan,-inf\nInfinity,-nan\n")
write("csv", "payload", "1,nan(2)\n")
write("csv", "out_of_range", "1e999,1e-400\n")


def npy(kind, shape, values):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + values


def archive(*members, method=zipfile.ZIP_STORED):
    """members: name and content."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as target:
        for name, member in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            target.writestr(info, member)
    return content.getvalue()


for path in sorted((GOLDEN / "npz").glob("*.npz")):
    write("npz", path.stem, path.read_bytes())
scalar = npy("<i8", "()", struct.pack("<q", 3))
one = archive(("a.npy", scalar))
directory = one.index(b"PK\1\2")
write("npz", "one", one)
write("npz", "comment", one[:-2] + b"\4\0text")
write("npz", "cut", one[:-1])
write("npz", "no_array", archive(("a", scalar)))
write("npz", "no_name", archive((".npy", scalar)))
write("npz", "nul_in_name", one.replace(b"a.npy", b"\0.npy"))
write("npz", "name_twice", archive(("a.npy", scalar), ("b.npy", scalar)).replace(b"b.npy", b"a.npy"))
write("npz", "long_name", archive(("n" * 3000 + ".npy", scalar)))
write("npz", "encrypted", one[:directory + 8] + b"\1" + one[directory + 9:])
write("npz", "damaged_sum", one[:directory + 16] + bytes(4) + one[directory + 20:])
write("npz", "packed_by_lzma", archive(("a.npy", scalar), method=zipfile.ZIP_LZMA))
write("npz", "bomb", archive(("a.npy", npy("|u1", f"({1 << 20},)", bytes(1 << 20))), method=zipfile.ZIP_DEFLATED))
write("npz", "packed", packed(one))

types = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E5M2": 1, "F8_E4M3": 1, "F8_E8M0": 1, "I64": 8,
         "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1}
nested = b"[" * 250 + b"]" * 250
write("safetensors", "empty", safetensors({}))
write("safetensors", "two", tensors({"a": ("F32", [2], f32(1, 2)), "b": ("I8", [1, 1], b"\x05")},
                                    {"format": "pt"}))

vector = ("F32", [2], f32(1, 2))
write("trace", "two", tensors(
    {"value/000000.w": vector, "gradient/000000.w": vector, "value/000001.h": ("F32", [2], f32(1, 4))},
    {"format": "tapegrad trace 1", "framework": "tapegrad", "precision": "float32", "instruction_set": "avx2",
     "000000.operation": "parameter", "000001.operation": "square", "000001.inputs": "0 -1", "000001.place": "a.cpp:1"}))
write("trace", "inputs", tensors(
    {"value/000000.a": vector, "value/000007.a": vector},
    {"format": "tapegrad trace 1", "000000.inputs": "7 0 -2 -9", "000007.inputs": "0 -2 7 -9 99999999999999999999 x"}))
write("trace", "gradient_alone", tensors({"gradient/1.": ("F32", [1, 2], f32(1, 2)), "value/000001.": vector},
                                         {"format": "tapegrad trace 1", "000001.operation": "parameter"}))

write("safetensors", "no_elements", tensors({"a": ("F32", [0, 3], b"")}))
write("safetensors", "all_types", tensors({kind: (kind, [1], bytes(size))
                                           for kind, size in types.items()}))
write("safetensors", "other_type", tensors({"a": ("F4", [2], b"\0")}))
write("safetensors", "nested_500_bytes", safetensors(nested))
write("safetensors", "nested_in_shape", safetensors(b'{"a":{"dtype":"F32","shape":' + nested +
                                                    b',"data_offsets":[0,0]}}'))
write("safetensors", "nested_packed", packed(safetensors(b'{"a":' + b"[" * 100000)))
write("safetensors", "name_twice", safetensors(
    b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
    b'"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}', b"\0\0"))
write("safetensors", "long_name", safetensors({"n" * 5000: 1}))
write("safetensors", "number_out_of_range", safetensors(b'{"a":1e999}'))
write("safetensors", "length_out_of_range", struct.pack("<Q", 2**64 - 1) + b"{}")
write("safetensors", "too_many_elements", tensors({"a": ("F32", [2**40, 2**40], b"")}))
write("safetensors", "too_large", tensors({"a": ("F64", [1], struct.pack("<d", 1e300))}))

parameters = {"linear.weight": ("F32", [1, 1], f32(0.5)), "linear.bias": ("F32", [1], f32(0.25)),
              "norm.gain": ("F32", [1], f32(1)), "norm.bias": ("F32", [1], f32(0))}
buffers = {"norm.running_mean": ("F32", [1], f32(0)), "norm.running_variance": ("F32", [1], f32(1))}
moments = {f"optimizer.{moment}.{name}": value
           for moment in ("mean", "square") for name, value in parameters.items()}
training = {"format": "tapegrad", "optimizer.steps": "3", "optimizer.rate": "0.001",
            "random.training.seed": "1", "random.training.position": "4", "note.data": "x"}
everything = {**parameters, **buffers, **moments}
write("checkpoint", "good", tensors(everything, training))
last = {f"resume.{name}": value for name, value in {**parameters, **buffers}.items()}
write("checkpoint", "with_best", tensors({**everything, **last}, training))
write("checkpoint", "without_last", tensors({**everything, **dict(list(last.items())[1:])}, training))
write("checkpoint", "without_a_tensor", tensors(parameters, training))
write("checkpoint", "surplus_tensor", tensors({**everything, "other": ("F32", [1], f32(1))}, training))
for name, change in {"rate_nan": {"optimizer.rate": "nan"}, "rate_negative": {"optimizer.rate": "-1"},
                     "rate_long": {"optimizer.rate": "1" * 5000},
                     "steps_negative": {"optimizer.steps": "-1"},
                     "seed_too_large": {"random.training.seed": str(2**64)},
                     "format_long": {"format": "x" * 5000}}.items():
    write("checkpoint", name, tensors(everything, {**training, **change}))

write("pytorch", "good", tensors({"linear.weight": ("F32", [1, 2], f32(1, 2)),
                                  "linear.bias": ("F32", [1], f32(3))}))
write("pytorch", "unexpected", tensors({"linear.weight": ("F32", [1, 2], f32(1, 2)),
                                        "linear.bias": ("F32", [1], f32(3)),
                                        "n" * 5000: ("F32", [1], f32(3))}))

write("text", "short", "\x02\x03the cat sees the dogs.")
write("text", "bytes", b"\x01\x01\0\xff\x80\r\n")
write("text", "too_short", "\x01\x7fab")
write("text", "empty", "\x01\x01")

write("lines", "good", "one\ntwo\n")
write("lines", "carriage_returns", b"one\r\n\r\r\n\xe9\rtwo")
write("lines", "empty", "")
write("lines", "two_byte_order_marks", "\ufeff\ufeff".encode() + b"\x8b+")
write("lines", "packed", packed(b"one\n\nthree"))

write("sentences", "good", "1 a good film\n0 a bad one\n1 good good\n")
write("sentences", "blanks", "3 \t word\r\n999  x\n")
write("sentences", "no_label", "good\n")
write("sentences", "no_words", "1\n")
write("sentences", "long_label", "9" * 5000 + " x\n")

def word(number, head, relation, form="a"):
    return f"{number}\t{form}\t_\tX\tY\t_\t{head}\t{relation}\t_\t_\n"


good = word(1, 2, "det") + word(2, 0, "root") + word(3, 2, "obj:x") + "\n"

write("conllu", "good", "# text = a\n1-2\ta\t_\t_\t_\t_\t_\t_\t_\t_\n" + good + good)
write("conllu", "packed", packed(good.encode()))
write("conllu", "line_ends", good.replace("\n", "\r\n"))
write("conllu", "empty_node", word(1, 0, "root") + word("1.1", "_", "_") + "\n")
write("conllu", "crossing", word(1, 3, "x") + word(2, 4, "x") + word(3, 0, "root") + word(4, 3, "x") + "\n")
write("conllu", "cut", good[:-20])
write("conllu", "cut_between_lines", good[:-1])
write("conllu", "cycle", word(1, 0, "root") + word(2, 3, "x") + word(3, 2, "x") + "\n")
write("conllu", "two_roots", word(1, 0, "root") + word(2, 0, "root") + "\n")
write("conllu", "head_out_of_range", word(1, 0, "root") + word(2, 3, "x") + "\n")
write("conllu", "head_too_large", word(1, "9" * 30, "x") + "\n")
write("conllu", "without_trees", word(1, "_", "_") + "\n")
write("conllu", "not_utf8", word(1, 0, "root", "\xff").encode("latin-1") + b"\n")
write("conllu", "long_field", word("9" * 5000, 0, "root") + "\n")
write("conllu", "empty_field", good.replace("Y", ""))

write("grammar", "good", "the dogs that the cat sees run. the cat sleeps.")
write("grammar", "cut", ". the dogs that the cat that")

for number, name in enumerate([
        "none", "layer", "layer:place=out,unbiased=1", "layer:over=channels", "layer_simple",
        "detach", "detach_mean", "detach_variance", "ada:c=1,k=0.1,detached=0", "rms:p=0.5,eps=1e-6",
        "batch:momentum=0.5,steps=3", "instance:s=1", "group:groups=2", "divisive:radius=2,learn_s=1",
        "weight", "layer:affine=0,gain=2,weight=1", "layer:eps=", "layer:", "rms:p=nan",
        "divisive:radius=1000000", "n" * 5000, "layer:eps=" + "9" * 5000, "whiten:groups=2,iterations=3,momentum=0.5",
        "detach_mean:forward=identity,factor=1", "group:factor=1/s,forward=normalized",
        "sgd", "adam:beta1=0.5,epsilon=1e-3", "adamw:center_gradients=inputs", "lion:beta1=0.9,beta2=0.99",
        "muon:momentum=0.8,center_weights=outputs", "adadelta:rho=nan", "adagrad:decay=", "rmsprop:alpha=2"]):
    write("named_options", f"{number:02}", name)

for number, equation in enumerate([
        "bij,bjk->bik\n223\n232", "i,i->\n4\n4", "ij,jk,kl\n23\n32\n24", "ij->ji\n23", "->\n\n",
        ",->\n\n", "i->i\n0", "ab,bc->ca\n20\n03", "a,b,c,d->dcba\n2\n3\n2\n3", "ii->i\n22",
        "i,j->ij\n2\n3", "...i->i\n2", "aBc,B->Bca\n123\n2", "abcd,efgh->abcdefgh\n1111\n1111",
        "abcde,fghij->\n11111\n11111", "x" * 5000, "...ij,...jk->...ik\n2123\n332", "b...,...a\n23\n232",
        "ibi->bi\n323", "...i,i->i\n23\n3", "....i->i\n2", "...,...->...\n21\n13", "x" * 5000 + "\n2"]):
    write("einsum", f"{number:02}", equation)

write("flags", "none", "")
write("flags", "numbers", "--lr\n1e-3\n--steps=200\n--hidden\n1,2,3\n--dropout\n0.5\n--seed=7")
write("flags", "names", "--norm\nlayer:place=out\n--optimizer\nadamw\n--schedule=step\n--prompt\nx")
write("flags", "files", "--save\nx\n--save-every\n5m\n--resume=y\n--log-dir\nz\n--probe\n--quiet")
write("flags", "seed_too_large", "--seed=18446744073709551616")
write("flags", "seed_negative", "--seed=-1")
write("flags", "number_too_large", "--batch-size\n99999999999999999999")
write("flags", "help", "--help")
write("flags", "empty_name", "--save=")
write("flags", "twice", "--lr=1\n--lr=2\n--hidden=1\n--hidden=2")
write("flags", "no_utf8", b"--data\n\xff\xfe\n--prompt=\xff")

write("notes", "none", "")
write("notes", "values", 'lr 0.5\nnorm "rms"\nhidden [4,5]\nsteps 7\nepoch_loss [1.5,3]')
write("notes", "state", "steps_done 31\nepoch_loss [2.5,1]\nrow_loss [2.5,1]")
write("notes", "best", "steps_done 31\nepoch_loss [2.5,1]\nrow_loss [2.5,1]\nbest_validation [0.5,30,0]")
write("notes", "missing", "lr")
write("notes", "other_program", "program mnist")
write("notes", "out_of_range", "dropout 2")
write("notes", "no_schedule", 'schedule "foo"')
write("notes", "no_size", "batch-size 0")
write("notes", "no_json", "lr {")
write("notes", "nested", "lr " + "[" * 5000 + "]" * 5000)
write("notes", "long", 'norm "' + "x" * 5000 + '"')
write("notes", "no_mean", "epoch_loss {}")
write("notes", "mean_out_of_range", "epoch_loss [1.0,1e99]")
write("notes", "mean_nested", "epoch_loss " + "[" * 5000 + "]" * 5000)

write("metrics", "far_apart", '{"step":1,"train_loss":1e308}\n{"step":2,"train_loss":-1e308}\n')
write("metrics", "close", '{"step":1,"train_loss":0}\n{"step":2,"train_loss":5e-324}\n')
row = '{"step":10,"seconds":0.5,"learning_rate":0.001,"train_loss":2.5}\n'
write("metrics", "good", row + '{"step":20,"seconds":1.5,"validation_loss":2.25}\n')
write("metrics", "empty", "")
write("metrics", "empty_object", "{}\n")
write("metrics", "empty_line", row + "\n" + row)
write("metrics", "cut", row + row[:20])
write("metrics", "no_rows", "[1]\n3\n\"step\"\nnull\n")
write("metrics", "step_of_text", '{"step":"10"}\n')
write("metrics", "nested", '{"step":' + "[" * 5000 + "]" * 5000 + "}\n")
write("metrics", "not_utf8", b'{"step":1,"a":"\xff"}\n')

header = ("step,norm,input_mean,input_variance,gradient_mean_after,gradient_mean_before,"
          "gradient_variance_after,gradient_variance_before,variance_ratio,greatest_variance_ratio,"
          "gradient_mean_before_scaled\n")
record = "1,layers.0.norm,0.5,1,0.1,1e-9,2,1.5,0.75,0.9,1e-8\n"
write("probe", "weights", "step,weight,norm,gradient_norm,radial,angle\n1,hidden.weight,1,0.5,-1e-9,0.01\n")
write("probe", "not_finite", header + record.replace("0.75", "inf").replace("0.5", "nan"))
write("probe", "good", header + record + record.replace("1,", "200,", 1))
write("probe", "empty", "")
write("probe", "no_records", header)
write("probe", "cut", header + record + record[:30])
write("probe", "no_number", header + record.replace("0.5", "x"))
write("probe", "step_too_large", header + "9" * 30 + record[1:])
write("probe", "quoted_name", b"step,weight,norm,gradient_norm,radial,angle\n2,h\xafi\xafd" + b"\xaf" * 6 +
      b"den.\xff\xff" + bytes(15) + b'\xfc' + bytes(30) + b'\xff\xfft' + b"\xff" * 6 + b'@' + b"\xff" * 6 +
      b'"\xff#' + b"\xff" * 4 + b'\x05' + bytes(7) + b"\xff" * 7 + b'weig(\x00\x00ht,1,0.5,-1e-9,1.01\n')
