"""What a command shows at a terminal. Our end of it stays open until everything is read: where the last writer closes its
end, Linux may say so to a reader who has not yet got the last words."""
import fcntl
import os
import pty
import subprocess
import termios
import threading

END = b"\x00the end\x00"


def _take_as_controlling():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def shown(command, streams=("stdout", "stderr"), typed=None, **others):
    """Runs it with `streams` on a terminal. `typed`: stdin is there, too, in a session of its own that the terminal controls,
    and this is typed at once. -> (the process, what the terminal showed)"""
    ours, theirs = pty.openpty()
    if typed is None:
        others = {"stdin": subprocess.DEVNULL, **others}
    else:
        others |= {"stdin": theirs, "start_new_session": True, "preexec_fn": _take_as_controlling}
        os.write(ours, typed)
    child = subprocess.Popen(command, **others, **dict.fromkeys(streams, theirs))

    def end():
        child.wait()
        os.write(theirs, END)
    ending = threading.Thread(target=end)
    ending.start()
    seen = b""
    while not seen.endswith(END):
        seen += os.read(ours, 4096)
    ending.join()
    os.close(theirs)
    os.close(ours)
    return child, seen.removesuffix(END)
