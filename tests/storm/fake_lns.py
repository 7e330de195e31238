#!/usr/bin/env python3
"""A tiny Basic Station server for station-storm's own tests: discovery, router_config, pings, echoing downlinks.

Prints "ready PORT" when it listens and one JSON object with its counts when it is told to stop (SIGTERM). Its faults are options.
"""
import argparse
import asyncio
import collections
import json
import signal
import ssl
import struct
import time

EU868 = {
    "msgtype": "router_config", "NetID": None, "JoinEui": None, "region": "EU863", "hwspec": "sx1301/1",
    "freq_range": [863000000, 870000000],
    "DRs": [[12, 125, 0], [11, 125, 0], [10, 125, 0], [9, 125, 0], [8, 125, 0], [7, 125, 0], [7, 250, 0], [0, 0, 0]] + [[-1, 0, 0]] * 8,
    "sx1301_conf": [{
        "radio_0": {"enable": True, "freq": 867500000}, "radio_1": {"enable": True, "freq": 868500000},
        "chan_FSK": {"enable": True, "radio": 1, "if": 300000, "datarate": 50000},
        "chan_Lora_std": {"enable": True, "radio": 1, "if": -200000, "bandwidth": 250000, "spread_factor": 7},
        **{f"chan_multiSF_{i}": {"enable": True, "radio": r, "if": f} for i, (r, f) in enumerate(
            [(1, -400000), (1, -200000), (1, 0), (0, -400000), (0, -200000), (0, 0), (0, 200000), (0, 400000)])}}],
}


def frame(opcode, payload):
    head = bytes([0x80 | opcode])
    return head + (bytes([len(payload)]) if len(payload) < 126 else b"\x7e" + struct.pack(">H", len(payload))) + payload


async def read_frame(reader):
    first, second = await reader.readexactly(2)
    size = second & 127
    if size == 126:
        size, = struct.unpack(">H", await reader.readexactly(2))
    mask = await reader.readexactly(4)
    payload = await reader.readexactly(size)
    if not second & 128 or not first & 128:
        raise ValueError("a client frame must be masked and final")
    if any(mask):
        payload = bytes(b ^ mask[i % 4] for i, b in enumerate(payload))
    return first & 15, payload


class Lns:
    def __init__(self, options):
        self.options = options
        self.counts = collections.Counter()
        self.ping_rtt = []
        self.port = 0

    async def serve(self, reader, writer):
        try:
            await self.converse(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError, TimeoutError):
            self.counts["ended"] += 1
        finally:
            writer.close()

    async def converse(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        path = head.split(" ")[1]
        if self.options.token and self.options.token not in head:
            self.counts["no_token"] += 1
            writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
            return
        discovery = path == "/router-info"
        self.counts["discovery" if discovery else "data"] += 1
        if not discovery and self.options.data_status != 101:
            writer.write(f"HTTP/1.1 {self.options.data_status} No\r\n\r\n".encode())
            return
        if not discovery and self.options.data_stall:
            await asyncio.sleep(self.options.data_stall)
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        await (self.discover(reader, writer, head) if discovery else self.work(reader, writer, path))

    async def discover(self, reader, writer, head):
        _, text = await read_frame(reader)
        router = json.loads(text)["router"]
        host = next(line for line in head.split("\r\n") if line.lower().startswith("host:")).split(":", 1)[1].strip()
        scheme = "wss" if self.options.cert else "ws"
        answer = {"router": router, "muxs": "::1", "uri": f"{scheme}://{host}/gw/{router}"}
        if self.options.refuse:
            answer = {"router": router, "error": "unknown gateway"}
        writer.write(frame(1, json.dumps(answer).encode()) + frame(8, struct.pack(">H", 1000)))
        await writer.drain()

    async def work(self, reader, writer, path):
        pinger = asyncio.create_task(self.ping(writer)) if self.options.ping else None
        closer = asyncio.create_task(self.cut(writer)) if self.options.close_after else None
        try:
            while True:
                opcode, payload = await read_frame(reader)
                if opcode == 8:
                    self.counts[f"close_{struct.unpack('>H', payload[:2])[0]}"] += 1
                    return
                if opcode == 10:
                    self.counts["pongs"] += 1
                    self.ping_rtt.append(time.monotonic() - struct.unpack(">d", payload)[0])
                if opcode == 1:
                    self.receive(json.loads(payload), writer)
        finally:
            for task in (pinger, closer):
                if task:
                    task.cancel()

    def receive(self, message, writer):
        kind = message["msgtype"]
        self.counts[kind] += 1
        if kind == "version":
            writer.write(frame(1, json.dumps({**EU868, "MuxTime": time.time()}).encode()))
        if kind == "updf" and self.options.downlinks:
            downlink = {"msgtype": "dnmsg", "DevEui": "00-00-00-00-11-00-00-01", "dC": 0, "diid": self.counts["updf"], "pdu": "60AABBCCDD",
                        "RxDelay": 1, "RX1DR": message["DR"], "RX1Freq": message["Freq"], "RX2DR": 0, "RX2Freq": 869525000, "priority": 1,
                        "xtime": message["upinfo"]["xtime"], "rctx": message["upinfo"]["rctx"]}
            writer.write(frame(1, json.dumps(downlink).encode()))
            self.counts["dnmsg"] += 1

    async def ping(self, writer):
        while True:
            await asyncio.sleep(self.options.ping)
            writer.write(frame(9, struct.pack(">d", time.monotonic())))
            self.counts["pings"] += 1

    async def cut(self, writer):
        await asyncio.sleep(self.options.close_after)
        writer.write(frame(8, struct.pack(">H", 1012)))
        self.counts["goodbyes"] += 1


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--cert", help="certificate and key, PEM; without it plain ws")
    parser.add_argument("--ping", type=float, default=0, help="seconds between pings")
    parser.add_argument("--downlinks", action="store_true", help="answer every updf with a class A dnmsg")
    parser.add_argument("--close-after", type=float, default=0, help="close each data connection after so many seconds")
    parser.add_argument("--data-stall", type=float, default=0, help="seconds before the 101 of a data connection")
    parser.add_argument("--data-status", type=int, default=101)
    parser.add_argument("--refuse", action="store_true", help="answer discovery with an error")
    parser.add_argument("--token", help="text that each request must contain")
    options = parser.parse_args()
    tls = None
    if options.cert:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(options.cert)
    lns = Lns(options)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    server = await asyncio.start_server(lns.serve, "127.0.0.1", options.port, ssl=tls, backlog=4096)
    print("ready", server.sockets[0].getsockname()[1], flush=True)
    await stop.wait()
    rtt = sorted(lns.ping_rtt)
    print(json.dumps({**lns.counts, "rtt_p50": rtt[len(rtt) // 2] if rtt else None}), flush=True)


asyncio.run(main())
