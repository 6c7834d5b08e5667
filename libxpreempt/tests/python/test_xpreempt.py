# SPDX-License-Identifier: MIT
"""The Python module on the fake ROCm and on a daemon that this file plays.

Run with FAKE_ROCM, the path of the fake libamdhip64, and LD_PRELOAD of libxpreempt-hook.so and of that
fake, whose ioctl must be found before that of the C library.
"""
import ctypes
import errno
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

DIRECTORY = tempfile.mkdtemp(prefix="xpreempt-python-")
SOCKET = os.path.join(DIRECTORY, "daemon.sock")
os.environ["XPREEMPTD_SOCKET"] = SOCKET

import xpreempt  # noqa: E402  (the environment first)
from xpreempt import _streams  # noqa: E402

HIP = ctypes.CDLL(os.environ["FAKE_ROCM"], mode=ctypes.RTLD_GLOBAL)
# LD_PRELOAD has it in front of HIP, for what is looked up through the program.
PROGRAM = ctypes.CDLL(None)


class FakeQueue(ctypes.Structure):
    """fake::Queue"""

    _fields_ = [
        ("percentage", ctypes.c_uint32),
        ("priority", ctypes.c_uint32),
        ("ring_base", ctypes.c_uint64),
        ("held", ctypes.c_bool),
        ("preempts", ctypes.c_uint32),
        ("updates", ctypes.c_uint32),
    ]


class FakeDriver(ctypes.Structure):
    """fake::Driver"""

    _fields_ = [("patched", ctypes.c_bool), ("lost", ctypes.c_bool), ("queues", FakeQueue * 64)]


HIP.fake_driver.restype = ctypes.POINTER(FakeDriver)
DRIVER = HIP.fake_driver().contents
DRIVER.patched = True


def held_queues():
    return sum(queue.held for queue in DRIVER.queues)


class TorchStream:
    """As torch.cuda.Stream."""

    def __init__(self, handle):
        self.cuda_stream = handle


class Streams(unittest.TestCase):
    def new_stream(self):
        """With a queue of its own: HIP shares queues once it has four."""
        stream = ctypes.c_void_p()
        self.assertEqual(PROGRAM.hipStreamCreate(ctypes.byref(stream)), 0)
        self.addCleanup(PROGRAM.hipStreamDestroy, stream)
        self.assertEqual(PROGRAM.hipMemsetAsync(None, 0, ctypes.c_size_t(4), stream), 0)
        return stream.value

    def test_suspended_stream_stops_and_runs_again(self):
        first, second = self.new_stream(), self.new_stream()
        with xpreempt.suspended(first) as level:
            self.assertEqual(level, xpreempt.Level.INTERRUPT)
            self.assertEqual(held_queues(), 1)
            with xpreempt.suspended(TorchStream(second), least=xpreempt.Level.INTERRUPT):
                self.assertEqual(held_queues(), 2)
            self.assertEqual(held_queues(), 1)
        self.assertEqual(held_queues(), 0)

    def test_stream_runs_again_after_an_exception(self):
        stream = self.new_stream()
        with self.assertRaises(KeyError):
            with xpreempt.suspended(stream):
                raise KeyError
        self.assertEqual(held_queues(), 0)

    def test_interrupt_as_the_hold_returns_releases_the_stream(self):
        stream = self.new_stream()
        call = _streams.call
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, handler)

        def interrupted(name, *arguments):
            call(name, *arguments)
            if name == "xp_stream_hold":
                signal.raise_signal(signal.SIGINT)  # its handler raises before the next line

        for hold in (xpreempt.hold, lambda stream: xpreempt.suspended(stream).__enter__()):
            with unittest.mock.patch.object(_streams, "call", interrupted):
                with self.assertRaises(KeyboardInterrupt):
                    hold(stream)
            self.assertEqual(held_queues(), 0)

    def test_holds_are_counted(self):
        stream = ctypes.c_void_p(self.new_stream())
        xpreempt.hold(stream)
        xpreempt.hold(stream)
        xpreempt.release(stream)
        self.assertEqual(held_queues(), 1)
        xpreempt.release(stream)
        self.assertEqual(held_queues(), 0)

    def test_errors_have_errno_and_text(self):
        with self.assertRaises(xpreempt.Error) as caught:
            xpreempt.release(self.new_stream())
        self.assertIsInstance(caught.exception, OSError)
        self.assertEqual(caught.exception.errno, errno.ENOENT)
        self.assertTrue(caught.exception.strerror)

    def test_what_is_no_stream_is_refused(self):
        for stream in ("1", 1.5, True, b"", object()):
            with self.assertRaises(TypeError):
                xpreempt.hold(stream)
        for stream in (-1, 1 << 64):
            with self.assertRaises(ValueError):
                xpreempt.hold(stream)

    def test_priority(self):
        stream = self.new_stream()
        self.assertEqual(xpreempt.get_priority(stream), 0)
        xpreempt.set_priority(stream, -255)
        self.assertEqual(xpreempt.get_priority(stream), -255)
        with self.assertRaises(ValueError):
            xpreempt.set_priority(stream, 256)

    def test_version(self):
        self.assertRegex(xpreempt.version(), r"^\d+\.\d+\.\d+$")


class Daemon:
    """Takes hints by what `answer` says of each, from any number of connections."""

    def __init__(self, answer=None):
        self.hints = []  # (number of the connection, the request)
        self.answer = answer or (lambda request: {"schema": 1, "ok": True})
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listening.bind(SOCKET)
        self.listening.listen()
        self.connections = []
        self.ended = set()  # numbers of connections that the client has closed
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self.accept)
        self.thread.start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(
                target=self.serve, args=(connection, len(self.connections)), daemon=True
            ).start()

    def serve(self, connection, number):
        while True:
            try:
                message = connection.recv(65536)
            except OSError:
                return
            if not message:
                with self.changed:
                    self.ended.add(number)
                    self.changed.notify_all()
                return
            request = json.loads(message.decode())
            self.hints.append((number, request))
            connection.send(json.dumps(self.answer(request), separators=(",", ":")).encode())

    def wait_for_end_of(self, number):
        with self.changed:
            if not self.changed.wait_for(lambda: number in self.ended, 60):
                raise AssertionError("connection {} is open".format(number))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listening.close()
        for connection in self.connections:
            connection.close()
        os.unlink(SOCKET)


def hint(kind, **rest):
    return dict({"do": "hint", "is": kind}, **rest)


def in_thread(call):
    """In a thread of its own, which so has a connection of its own."""
    results = []

    def body():
        try:
            results.append(call())
        except Exception as error:  # handed to the caller
            results.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if isinstance(results[0], Exception):
        raise results[0]
    return results[0]


class Hints(unittest.TestCase):
    def setUp(self):
        xpreempt._hints._unused.clear()  # connected to the daemon of the test before

    def test_requests_are_hinted_in_order(self):
        def work():
            with xpreempt.deadline(20) as taken:
                self.assertTrue(taken)
                self.assertTrue(xpreempt.soon(0.5))
            with xpreempt.deadline():
                pass

        with Daemon() as daemon:
            in_thread(work)
            self.assertEqual(
                daemon.hints,
                [
                    (1, hint("begin", deadline_us=20000)),
                    (2, hint("soon", us=500)),
                    (1, hint("end")),
                    (1, hint("begin")),
                    (1, hint("end")),
                ],
            )

    def test_blocks_of_one_thread_end_their_own_hints_only(self):
        with Daemon() as daemon:
            first, second = xpreempt.deadline(50), xpreempt.deadline(10)
            first.__enter__()
            second.__enter__()
            first.__exit__(None, None, None)  # as coroutines do
            self.assertEqual(
                daemon.hints,
                [
                    (1, hint("begin", deadline_us=50000)),
                    (2, hint("begin", deadline_us=10000)),
                    (1, hint("end")),
                ],
            )
            second.__exit__(None, None, None)
            self.assertEqual(daemon.hints[-1], (2, hint("end")))

    def test_each_band_ends_with_its_block(self):
        with Daemon() as daemon:
            with xpreempt.band("high"):
                with xpreempt.band("idle"):
                    pass
                self.assertEqual(daemon.hints[-1], (2, hint("band")))
            self.assertEqual(
                daemon.hints,
                [
                    (1, hint("band", band="high")),
                    (2, hint("band", band="idle")),
                    (2, hint("band")),
                    (1, hint("band")),
                ],
            )

    def test_without_a_daemon_the_program_runs(self):
        def work():
            with xpreempt.deadline(20) as taken:
                self.assertFalse(taken)
                self.assertFalse(xpreempt.soon(1))
            with self.assertRaises(xpreempt.Error) as caught:
                with xpreempt.band("high"):
                    self.fail("not reached")
            self.assertEqual(caught.exception.errno, errno.ENOENT)
            self.assertIn("xpreemptd is not running", caught.exception.strerror)

        in_thread(work)

    def test_refusals_are_raised_with_the_daemons_text(self):
        refusal = {"schema": 1, "ok": False, "error": "EPERM", "text": 'band "high": not yours'}
        with Daemon(lambda _: refusal):
            with xpreempt.Hint() as link:
                with self.assertRaises(xpreempt.Error) as caught:
                    link.set_band("high")
                self.assertEqual(caught.exception.errno, errno.EPERM)
                self.assertIn('band "high": not yours', caught.exception.strerror)
            with self.assertRaises(xpreempt.Error):
                in_thread(lambda: xpreempt.soon(1))

    def test_refusal_for_the_rate_is_no_error(self):
        refusal = {"schema": 1, "ok": False, "error": "EAGAIN", "text": "later"}
        with Daemon(lambda _: refusal):
            self.assertFalse(in_thread(lambda: xpreempt.soon(1)))

    def test_threads_that_end_leave_no_connection(self):
        def work():
            with xpreempt.deadline(20) as taken:
                self.assertTrue(taken)

        with Daemon() as daemon:
            for _ in range(300):
                in_thread(work)
            self.assertEqual(len(daemon.connections), 1)

    def test_connections_beyond_a_few_are_closed_when_they_are_unused(self):
        with Daemon() as daemon:
            blocks = [xpreempt.deadline(20) for _ in range(10)]
            for block in blocks:
                block.__enter__()
            self.assertEqual(len(daemon.connections), 10)
            for block in blocks:
                block.__exit__(None, None, None)
            blocks.clear()
            for number in range(5, 11):
                daemon.wait_for_end_of(number)

    def test_hint_that_is_dropped_closes_its_connection(self):
        def work():
            xpreempt.Hint().soon(1)

        with Daemon() as daemon:
            in_thread(work)
            daemon.wait_for_end_of(1)

    def test_hint_that_is_not_undone_ends_with_its_connection(self):
        def answer(request):
            if request["is"] == "begin" or "band" in request:
                return {"schema": 1, "ok": True}
            return {"schema": 1, "ok": False, "error": "EAGAIN", "text": "later"}

        with Daemon(answer) as daemon:
            with xpreempt.deadline(20):
                pass
            daemon.wait_for_end_of(1)
            with xpreempt.band("high"):
                pass
            daemon.wait_for_end_of(2)

    def test_interrupt_as_a_request_begins_ends_its_connection(self):
        call = xpreempt._hints.call
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, handler)

        def interrupted(name, *arguments):
            call(name, *arguments)
            if name == "xp_hint_begin":
                signal.raise_signal(signal.SIGINT)  # its handler raises before the next line

        with Daemon() as daemon:
            with unittest.mock.patch.object(xpreempt._hints, "call", interrupted):
                with self.assertRaises(KeyboardInterrupt):
                    xpreempt.deadline(20).__enter__()
            with xpreempt.deadline(10):
                pass
            self.assertEqual([number for number, _ in daemon.hints], [1, 2, 2])
            daemon.wait_for_end_of(1)

    def test_program_without_a_descriptor_runs(self):
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        with Daemon():
            xpreempt.version()  # loads the library
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, limit[1]))
            try:
                self.assertFalse(xpreempt.soon(1))
                with xpreempt.deadline(20) as taken:
                    self.assertFalse(taken)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, limit)

    def test_priority_and_values_out_of_range(self):
        with Daemon() as daemon, xpreempt.Hint(SOCKET) as link:
            link.set_priority(-255)
            link.set_priority(None)
            link.set_band(None)
            for wrong in (0, -1, 100.001):
                with self.assertRaises(ValueError):
                    link.soon(wrong)
            with self.assertRaises(ValueError):
                link.set_band("top")
            with self.assertRaises(ValueError):
                link.set_priority(256)
            with self.assertRaises(ValueError):
                link.begin(3600001)
            self.assertEqual(
                [request for _, request in daemon.hints],
                [hint("priority", priority=-255), hint("priority"), hint("band")],
            )

    def test_closed_hint_is_an_error(self):
        link = xpreempt.Hint()
        link.close()
        for call in (link.end, link.close):
            with self.assertRaises(xpreempt.Error) as caught:
                call()
            self.assertEqual(caught.exception.errno, errno.EBADF)

    def test_child_hints_by_itself(self):
        # A new interpreter without HIP: a child of a process that used it may not call the library.
        code = "import os, xpreempt; assert xpreempt.soon(1)\nif os.fork() == 0:\n    os._exit(0 if xpreempt.soon(1) else 1)\nassert os.wait()[1] == 0"
        with Daemon() as daemon:
            subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
            self.assertEqual([number for number, _ in daemon.hints], [1, 2])


class Loading(unittest.TestCase):
    def test_missing_library_is_named(self):
        environment = {
            key: value
            for key, value in os.environ.items()
            if key not in ("LD_LIBRARY_PATH", "LD_PRELOAD")
        }
        code = (
            "import xpreempt\n"
            "try:\n    xpreempt.version()\n"
            "except OSError as error:\n    print(error.errno, error.strerror)\n"
        )
        said = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
            timeout=60,
        ).stdout.decode()
        if not said:
            self.skipTest("libxpreempt.so.0 is installed")
        self.assertIn("libxpreempt", said)
        self.assertIn("install libxpreempt0", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
