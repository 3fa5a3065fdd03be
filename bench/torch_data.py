"""torch_data.py - interactions for the PyTorch side of the comparisons, read without the library.

load(path) takes a prepared directory (its data.safetensors, tensors train.offset and train.item), or a file of
tab-separated pairs "user item [split]" of numbers, plain or .zst; of a file with a third column only split 0 is
taken. Gives a dictionary: users, items, and the training graph compressed both ways

    user_offset (users + 1), user_column (E), item_offset (items + 1), item_column (E)    int64 numpy arrays
    turn (E)      place of the item-side entry e in the user-side order
"""
import json
import os
import subprocess

import numpy as np

DTYPES = {"I32": np.int32, "I64": np.int64, "F32": np.float32, "F64": np.float64, "U8": np.uint8}


def read_safetensors(path):
    """name -> array, by memory map."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    raw = np.memmap(path, dtype=np.uint8, mode="r")
    out = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            out[name] = raw[begin:end].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return out


def read_pairs(path):
    if path.endswith(".zst"):
        text = subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout
    else:
        with open(path, "rb") as file:
            text = file.read()
    columns = len(text[: text.index(b"\n")].split())
    table = np.array(text.split(), dtype=np.int64).reshape(-1, columns)
    if columns > 2:
        table = table[table[:, columns - 1] == 0]
    _, user = np.unique(table[:, 0], return_inverse=True)
    _, item = np.unique(table[:, 1], return_inverse=True)
    return user, item


def compress(row, column, rows):
    order = np.lexsort((column, row))
    offset = np.zeros(rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=rows), out=offset[1:])
    return offset, column[order].astype(np.int64), order


def load(path):
    if os.path.isdir(path):
        tensors = read_safetensors(os.path.join(path, "data.safetensors"))
        offset = tensors["train.offset"].astype(np.int64)
        item = tensors["train.item"].astype(np.int64)
        user = np.repeat(np.arange(len(offset) - 1), np.diff(offset))
        users, items = len(offset) - 1, len(tensors["items.offset"]) - 1
    else:
        user, item = read_pairs(path)
        users, items = int(user.max()) + 1, int(item.max()) + 1
    user_offset, user_column, order = compress(user, item, users)
    user, item = user[order], item[order]
    item_offset, item_column, turn = compress(item, user, items)
    return {"users": users, "items": items, "edges": len(item), "user_offset": user_offset,
            "user_column": user_column, "item_offset": item_offset, "item_column": item_column, "turn": turn}

