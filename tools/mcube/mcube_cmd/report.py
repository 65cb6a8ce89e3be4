# SPDX-License-Identifier: GPL-2.0
"""Steps of 'mcube report': run them, watch that they get on, and write one file of all.

A step is a command. It ends by itself, or is stalled: for STALL seconds it has said nothing,
started no program and written nothing. A step that fails is recorded, and the next one runs.
"""

import io
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from . import host
from .term import Failure

STALL = 600.0
LOOK = 0.5              # seconds between looks at a step
KEPT = 64 << 10         # bytes of a step's output that are kept, the last ones
# Host names that are words of these reports.
WORDS = ("localhost", "mcube", "debian", "linux")
# What names processes and cgroups of users, as settings or in what a command prints.
PRIVATE = ("pids", "cgroup", "targets", "comm", "explained")


def mcube():
    """The mcube command of this package, in the source tree or installed."""
    here = Path(__file__).resolve()
    return [sys.executable, str(next((p for p in (here.parents[1] / "mcube",
                                                  here.parents[3] / "bin/mcube") if p.is_file()),
                                     "mcube"))]


def ignore_signals():
    """From here on nothing may keep the settings from coming back."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def children(pid):
    """PIDs of all processes below a process."""
    below, out = {}, []
    for name in os.listdir("/proc"):
        if name.isdigit():
            m = re.search(r"\) \S (\d+)", raw(f"/proc/{name}/stat"))
            if m:
                below.setdefault(int(m[1]), []).append(int(name))
    wait = [pid]
    while wait:
        mine = below.get(wait.pop(), [])
        out += mine
        wait += mine
    return out


def raw(path):
    """Text of a file of this machine's /proc; '' if it is gone."""
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:
        return ""


def sign_of_life(pid, files):
    """What changes while a step gets on."""
    pids = [pid, *children(pid)]
    written = sum(int(m[1]) for p in pids
                  if (m := re.search(r"^wchar: (\d+)", raw(f"/proc/{p}/io"), re.M)))
    return tuple(pids), written, tuple(os.fstat(f.fileno()).st_size for f in files)


def end(process):
    """Kill a step and what it started; a step gets time to tidy up first."""
    # Programs of 'mcube corun' have sessions of their own, which it ends itself.
    left = children(process.pid)
    for number, patience in ((signal.SIGINT, 20), (signal.SIGKILL, 20)):
        try:
            os.killpg(process.pid, number)
            process.wait(patience)
            break
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(argv, stall=None, env=None):
    """Run a command: {"status", "why", "seconds", "out", "err"}.

    status is ok, failed, stalled or interrupted; failed is refined by judge().
    """
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        result = {"status": "ok", "why": ""}
        try:
            process = subprocess.Popen(  # pylint: disable=consider-using-with
                argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
                env={**os.environ, **(env or {})})
        except OSError as e:
            return {"status": "refused", "why": f"{argv[0]}: {os.strerror(e.errno)}",
                    "seconds": 0.0, "out": "", "err": ""}
        try:
            watch(process, (out, err), STALL if stall is None else stall, result)
        except KeyboardInterrupt:
            ignore_signals()
            end(process)
            result = {"status": "interrupted", "why": "by a signal"}
        if result["status"] == "ok" and process.returncode:
            result = {"status": "failed", "why": f"status {process.returncode}"}
        result["seconds"] = round(time.monotonic() - begin, 1)
        for name, f in (("out", out), ("err", err)):
            f.seek(max(0, f.seek(0, os.SEEK_END) - (1 << 24)))
            result[name] = f.read().decode("utf-8", "replace")
        result["exit"] = process.returncode
    return result


def watch(process, files, stall, result):
    """Wait for a step, as long as it gets on."""
    last, since = None, time.monotonic()
    while True:
        try:
            process.wait(LOOK)
            return
        except subprocess.TimeoutExpired:
            pass
        now = sign_of_life(process.pid, files)
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > stall:
            end(process)
            result.update(status="stalled", why=f"nothing happened for {stall:.0f} s")
            return


def judge(got):
    """The record of a step: its JSON if it printed any, else the end of its text.

    A command that says what it lacks and what to do has refused, not failed.
    """
    record = {k: got[k] for k in ("status", "why", "seconds")}
    try:
        record["data"] = json.loads(got["out"])
        if got["status"] == "failed" and got["exit"] == 1:
            record.update(status="ok", why="")
    except ValueError:
        text = (got["out"] + got["err"])[-KEPT:]
        if text:
            record["output"] = text
    if record["status"] == "failed":
        if m := re.search(r"^mcube \w+: error: (.*?)(?:^what to do: (.*))?\Z", got["err"],
                          re.S | re.M):
            record.update(status="refused", why=m[1].strip())
            if m[2]:
                record["next"] = m[2].strip()
        elif "usage: mcube" in got["err"]:
            record.update(status="refused", why="this mcube command has no such subcommand")
    return record


class Scrubber:
    """Removes what names the machine or its users from texts."""

    def __init__(self, names=(), paths=()):
        node = platform.node()
        words = {node, node.partition(".")[0], *names} - {""}
        self.words = sorted((w for w in words if w.lower() not in WORDS and w != "root"), key=len,
                            reverse=True)
        self.paths = sorted((str(p) for p in paths), key=len, reverse=True)

    def text(self, text):
        """A text without these words."""
        for path in self.paths:
            text = text.replace(path, "DIR")
        for word in self.words:
            text = re.sub(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", "HOST", text)
        return re.sub(r"/home/[^/\s'\"]+", "/home/USER", text)

    def all(self, data):
        """Anything that JSON holds."""
        if isinstance(data, str):
            return self.text(data)
        if isinstance(data, dict):
            return {self.text(str(k)): self.all(v) for k, v in data.items() if k not in PRIVATE}
        if isinstance(data, list):
            return [self.all(x) for x in data]
        return data


def as_text(data):
    """The report for people."""
    lines = [f"mcube report, {data['machine']['kernel']}, {data['machine']['cpu']['model name']}",
             ""]
    for s in data["steps"]:
        why = f": {s['why']}" if s["why"] else ""
        lines.append(f"{s['status']:12}{s['name']:20}{s['seconds']:7.0f} s{why}")
        if s.get("next"):
            lines.append(f"{'':12}what to do: {s['next']}")
    lines += ["", "report.json has all figures."]
    return "\n".join(lines) + "\n"


def check_path(path):
    """Refuse a file that could not be written, before the work."""
    path = Path(path)
    if not path.name.endswith((".tar.gz", ".tgz")):
        raise Failure(f"{path} is no .tar.gz file", "name a file such as report.tar.gz")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK) or path.is_dir():
        raise Failure(f"{path} cannot be written", "name a file in a directory that you may "
                      "write to, by --output")


def write(path, data):
    """Write the report, whole or not at all."""
    members = {"report.txt": as_text(data), "report.json": json.dumps(data, indent=1) + "\n"}
    path = Path(path)
    part = path.with_name(f".{path.name}.part")
    try:
        with tarfile.open(part, "w:gz") as tar:
            for name, text in members.items():
                info = tarfile.TarInfo(f"mcube-report/{name}")
                info.size, info.mtime = len(text.encode()), int(time.time())
                tar.addfile(info, io.BytesIO(text.encode()))
        part.replace(path)
    except OSError as e:
        part.unlink(missing_ok=True)
        raise Failure(f"{path}: cannot be written: {os.strerror(e.errno)}",
                      "name a file in a directory that you may write to, by --output") from e


def log_lines():
    """What mcube wrote to the kernel's log since boot, and lines that look like its faults."""
    try:
        fd = os.open(host.at("/dev/kmsg"), os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return []
    out = [text for text in host.log_texts(fd)
           if re.match(r"mcube[:_]|WARNING: .*mcube|BUG: .*mcube", text)]
    os.close(fd)
    return out[-200:]
