"""Event files as a log should have them, read without TensorBoard."""

import json
import math
import struct


def crc32c(data):
    remainder = 0xFFFFFFFF
    for byte in data:
        remainder ^= byte
        for _ in range(8):
            remainder = remainder >> 1 ^ (0x82F63B78 if remainder & 1 else 0)
    return remainder ^ 0xFFFFFFFF


def expect_checksum(data, stored):
    crc = crc32c(data)
    if stored != struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF):
        raise ValueError("a checksum is wrong")


def messages(content):
    """The messages in the records of a file, up to the last whole one. ValueError: a byte is wrong."""
    while len(content) >= 12:
        expect_checksum(content[:8], content[8:12])
        end = 12 + int.from_bytes(content[:8], "little")
        if len(content) < end + 4:
            return  # the program was killed in it
        expect_checksum(content[12:end], content[end:end + 4])
        yield content[12:end]
        content = content[end + 4:]


def varint(message, at):
    number = shift = 0
    while True:
        number |= (message[at] & 0x7F) << shift
        shift += 7
        at += 1
        if message[at - 1] < 0x80:
            return number, at


def fields(message):
    """The fields of a message of protocol buffers: pairs of number and value."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(message, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if kind == 2:
                size, at = varint(message, at)
            value, at = message[at:at + size], at + size
            value = struct.unpack({1: "<d", 5: "<f"}[kind], value)[0] if kind != 2 else value
        yield key >> 3, value


def events(content):
    """The events of a file: for each its step, wall time and scalars, after the two that every file begins with."""
    found = []
    for number, message in enumerate(messages(content)):
        event = dict(fields(message))
        if number == 0:
            assert event[3] == b"brain.Event:2", event
        elif number == 1:
            assert (event[2], dict(fields(event[7]))) == (0, {1: 1}), event  # a session starts
        else:
            values = [dict(fields(value)) for _, value in fields(event[5])]
            found.append((event[2], event[1], {value[1].decode(): value[2] for value in values}))
    return found


def single(value):
    """A number of a row in single precision; null stands for one that is not finite."""
    return math.nan if value is None else struct.unpack("<f", struct.pack("<f", value))[0]


def rows_as_events(log):
    """Steps, seconds and scalars of the rows in a directory."""
    rows = [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]
    return [(row.pop("step"), row.pop("seconds"), {name: single(value) for name, value in row.items()})
            for row in rows]


def event_files(log):
    """From the oldest to the newest."""
    return sorted(log.glob("events.out.tfevents.*.tapegrad"))
