"""A page of `tare timeline --html` as somebody uses it: in a real browser, without a screen, by events that a mouse would make."""
import html
import json
import math
import pathlib
import re
import subprocess

# Runs in the page, behind its own script; what it saw stands in the page at the end.
PROBE = """<script>
const seen={told:[]},middle=Math.round((whole[0]+whole[1])/2)
function put(kind,type,x,more){const r=svg.getBoundingClientRect(),w=svg.viewBox.baseVal.width
svg.dispatchEvent(new kind(type,{clientX:r.left+px(x)/w*r.width,clientY:r.top+r.height/2,pointerId:1,bubbles:true,cancelable:true,...more}))}
svg.setPointerCapture=()=>{}
for(const x of[middle,...data.events.slice(0,3),...data.marks.slice(0,3).map(m=>m.x)]){put(PointerEvent,'pointermove',x)
seen.told.push([x,told.style.display,told.textContent])}
put(WheelEvent,'wheel',middle,{deltaY:-400});seen.zoomed=[...view];seen.plot=plot.getAttribute('viewBox').split(' ').map(Number)
seen.ticks=[...svg.querySelectorAll('.axes .x')].map(t=>Number(t.textContent.replaceAll(',','')))
const d=(view[1]-view[0])/10
put(PointerEvent,'pointerdown',middle);put(PointerEvent,'pointermove',middle+d);put(PointerEvent,'pointerup',middle);seen.moved=[...view]
put(MouseEvent,'dblclick',middle);seen.back=[...view]
const end=document.createElement('pre');end.id='seen';end.textContent=JSON.stringify(seen);document.body.append(end)
</script>"""


def close(a, b, within):
    return all(abs(x - y) <= within for x, y in zip(a, b, strict=True))


def scale_at(data, x):
    before = [value for at, value in data["points"] if at <= math.floor(x + 0.5)]
    return before[-1] if before else data["points"][0][1]


def said_wrongly(data, seen):
    for x, display, text in seen["told"]:
        lines = text.split("\n")
        if display != "block" or not lines[0].startswith(data["unit"] + " "):
            yield f"under the pointer at {x}: {text!r}"
            continue
        scale, told = scale_at(data, x), lines[1].removeprefix("scale ").split(" (")[0].replace(",", "")
        if (told != scale) if isinstance(scale, str) else not math.isclose(float(told), scale, rel_tol=1e-4, abs_tol=1e-6):
            yield f"under the pointer at {x}: {text!r}, the scale is {scale}"
        if x in data["events"] and not any(line.startswith("overflow at ") for line in lines):
            yield f"under the pointer at {x}: {text!r}, there is an overflow"
        if any(mark["x"] == x for mark in data["marks"]) and not any(mark["label"] in lines for mark in data["marks"]):
            yield f"under the pointer at {x}: {text!r}, there is a checkpoint"


def moved_wrongly(data, seen):
    left, right = data["left"], data["right"]
    middle, width, pixel = math.floor((left + right) / 2 + 0.5), (right - left) * math.exp(-1), (right - left) / 800
    zoomed = [end + (middle - end) * (1 - math.exp(-1)) for end in (left, right)]
    if not close(seen["zoomed"], zoomed, pixel):
        yield f"the wheel leads to {seen['zoomed']}, not {zoomed}"
    if not all(zoomed[0] - pixel <= tick <= zoomed[1] + pixel for tick in seen["ticks"]):
        yield f"ticks {seen['ticks']} outside {zoomed}"
    if not close(seen["moved"], [end - width / 10 for end in seen["zoomed"]], pixel):
        yield f"dragging leads from {seen['zoomed']} to {seen['moved']}"
    if not close(seen["back"], [left, right], 0):
        yield f"a double click leads to {seen['back']}"


def problems_of(browser: str, page: pathlib.Path):
    """What is wrong with the page; `page` is a file."""
    text = page.read_text()
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)[1])
    probed = page.with_suffix(".probed.html")
    probed.write_text(text.replace("\n</html>", PROBE + "\n</html>"))
    try:
        done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1240,620",
                               "--virtual-time-budget=2000", "--dump-dom", probed.resolve().as_uri()],
                              capture_output=True, text=True, timeout=120)
    finally:
        probed.unlink()
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
    if not found:
        return [f"{page}: its script does not run to the end: {done.stderr[-200:]}"]
    seen = json.loads(html.unescape(found[1]))
    return [f"{page}: {problem}" for problem in (*said_wrongly(data, seen), *moved_wrongly(data, seen))]
