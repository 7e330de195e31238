"""A station that can do everything wrong: plain sockets, frames byte by byte. Blocking, with a deadline on each step."""

import json
import os
import socket
import struct

from processes import seconds

# What every stock station in the world sends.
KEY = "bpse8nVmEl6ZlX4lSb6RMw=="
MASK = b"\x01\x01\x01\x01"
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


def request(path, host="localhost", headers=(), method="GET", version="HTTP/1.1"):
    """The stock client's upgrade request as bytes; `headers` are further whole lines."""
    lines = [
        f"{method} {path} {version}",
        f"Host: {host}",
        "Upgrade: websocket",
        "Connection: upgrade",
        f"Sec-WebSocket-Key: {KEY}",
        "Sec-WebSocket-Version: 13",
        *headers,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def frame(payload, opcode=TEXT, *, fin=True, rsv=0, mask=MASK, length=None, form=None):
    """One WebSocket frame. `mask=None` leaves it unmasked; `length` lies about the length; `form` forces 7, 16 or 64 bits."""
    if isinstance(payload, str):
        payload = payload.encode()
    told = len(payload) if length is None else length
    form = form or (7 if told < 126 else 16 if told < 65536 else 64)
    second = 0x80 if mask is not None else 0
    head = bytes([(0x80 if fin else 0) | (rsv << 4) | opcode])
    if form == 7:
        head += bytes([second | told])
    elif form == 16:
        head += bytes([second | 126]) + struct.pack(">H", told)
    else:
        head += bytes([second | 127]) + struct.pack(">Q", told)
    if mask is None:
        return head + payload
    return head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))


def close_payload(code, reason=b""):
    return struct.pack(">H", code) + reason


class Closed(Exception):
    """The other side ended the connection; `code` of its close frame, 1006 where there was none."""

    def __init__(self, what, code=1006):
        super().__init__(what)
        self.code = code


class RawStation:
    """`ssl` None = plain TCP."""

    def __init__(self, port, *, ssl=None, host="127.0.0.1", server_name="localhost", within=20):
        self.port, self.buffer = port, b""
        self.socket = socket.create_connection((host, port), timeout=seconds(within))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if ssl is not None:
            self.socket = ssl.wrap_socket(self.socket, server_hostname=server_name)

    def send(self, data):
        self.socket.sendall(data)

    def send_in_pieces(self, data, size=1):
        for at in range(0, len(data), size):
            self.socket.sendall(data[at : at + size])

    def _more(self):
        try:
            data = self.socket.recv(65536)
        except socket.timeout:
            raise AssertionError("nothing arrived before the deadline") from None
        except OSError as error:
            raise Closed(str(error)) from None
        if not data:
            raise Closed("end of stream")
        self.buffer += data

    def read(self, count):
        while len(self.buffer) < count:
            self._more()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def read_until(self, mark):
        while mark not in self.buffer:
            self._more()
        data, _, self.buffer = self.buffer.partition(mark)
        return data + mark

    def response(self):
        """(status, {header: value}) of one HTTP answer, its body left in the buffer."""
        head = self.read_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
        return int(head[0].split(" ")[1]), {key.lower(): value for key, value in headers.items()}

    def upgrade(self, path, headers=()):
        """Sends the stock request; the status."""
        self.send(request(path, f"localhost:{self.port}", headers))
        return self.response()[0]

    def read_frame(self):
        """(opcode, payload, fin) of the next frame; servers never mask."""
        first, second = self.read(2)
        assert not second & 0x80, "a server must not mask"
        assert not first & 0x70, "no extension was agreed on"
        length = second & 0x7F
        if length == 126:
            length = struct.unpack(">H", self.read(2))[0]
        elif length == 127:
            length = struct.unpack(">Q", self.read(8))[0]
        return first & 0x0F, self.read(length), bool(first & 0x80)

    def read_json(self):
        """The next text message, pings answered on the way."""
        while True:
            opcode, payload, fin = self.read_frame()
            if opcode == PING:
                self.send(frame(payload, PONG))
            elif opcode == TEXT:
                assert fin, "stations do not read fragmented messages"
                return json.loads(payload)
            elif opcode == CLOSE:
                raise Closed(f"close frame {self._code(payload)}", self._code(payload))

    @staticmethod
    def _code(payload):
        return struct.unpack(">H", payload[:2])[0] if len(payload) >= 2 else 1005

    def close_code(self):
        """Reads to the end; the code of the close frame, 1006 where there was none. Answers it as a station does."""
        try:
            while True:
                opcode, payload, _ = self.read_frame()
                if opcode == CLOSE:
                    try:
                        self.send(frame(payload[:2], CLOSE))
                    except OSError:
                        pass
                    return self._code(payload)
        except Closed:
            return 1006

    def ends(self):
        """True once the server has closed the TCP connection (any data on the way is dropped)."""
        try:
            while True:
                self.buffer = b""
                self._more()
        except Closed:
            return True

    def reset(self):
        """Closes with a TCP reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def garbage(size):
    return os.urandom(size)
