#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/base/text.hpp"
#include "lib/chart/svg.hpp"

namespace tare::chart {
namespace {

constexpr std::size_t most_points_in_html = 6000;
constexpr std::size_t most_events_in_html = 3000;

constexpr std::string_view page_style = R"(<style>
:root{color-scheme:light dark}
body{margin:0;padding:16px;background:#fff;color:#1f2328;font:14px system-ui,sans-serif}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}}
figure{margin:0 auto;max-width:1200px;position:relative}
svg.tare{width:100%;height:auto;display:block;touch-action:none;cursor:crosshair}
#told{position:absolute;display:none;pointer-events:none;padding:4px 8px;border-radius:4px;background:#1f2328;color:#fff;
font-size:12px;white-space:pre}
@media(prefers-color-scheme:dark){#told{background:#e6edf3;color:#0d1117}}
.hint{color:#8c959f;font-size:12px;margin:4px 0 0 6%}
</style>)";

/// Zoom changes the plot's view; everything that is not in it moves along.
constexpr std::string_view script = R"(<script>
const data=JSON.parse(document.getElementById('data').textContent)
const svg=document.querySelector('svg.tare'),plot=svg.querySelector('.plot'),told=document.getElementById('told')
const box={x:+plot.getAttribute('x'),w:+plot.getAttribute('width'),h:+plot.getAttribute('height')}
const whole=[data.left,data.right];let view=[...whole]
const number=v=>Number(v).toLocaleString('en-US',{maximumFractionDigits:6})
const power=s=>{const l=Math.log2(s);return Number.isInteger(l)?` (2^${l})`:''}
const px=x=>box.x+(x-view[0])/(view[1]-view[0])*box.w
const marks=[...svg.querySelectorAll('.marks circle')]
function ticks(){const rough=(view[1]-view[0])/8;let d=10**Math.floor(Math.log10(rough))
for(const f of[2,2.5,2])if(d<rough)d*=f
d=Math.max(d,1);const found=[];for(let t=Math.ceil(view[0]/d)*d;t<=view[1];t+=d)found.push(t);return found}
function draw(){const k=box.w/(whole[1]-whole[0])
plot.setAttribute('viewBox',`${(view[0]-whole[0])*k} 0 ${(view[1]-view[0])*k} ${box.h}`)
marks.forEach((m,i)=>{const x=px(data.marks[i].x);m.setAttribute('cx',x)
m.style.display=x<box.x-1||x>box.x+box.w+1?'none':''})
const axes=svg.querySelector('.axes'),old=[...axes.querySelectorAll('.x')],y=old.length?old[0].getAttribute('y'):0
old.forEach(t=>t.remove());for(const t of ticks()){const e=document.createElementNS(svg.namespaceURI,'text')
e.setAttribute('class','x');e.setAttribute('x',px(t));e.setAttribute('y',y);e.setAttribute('text-anchor','middle')
e.textContent=number(t);axes.append(e)}}
function at(event){const r=svg.getBoundingClientRect(),w=svg.viewBox.baseVal.width
const x=(event.clientX-r.left)/r.width*w;return view[0]+(x-box.x)/box.w*(view[1]-view[0])}
function clamp(a,b){const least=Math.max((whole[1]-whole[0])/1e5,1e-9);if(b-a<least)b=a+least
if(a<whole[0]){b+=whole[0]-a;a=whole[0]}if(b>whole[1]){a-=b-whole[1];b=whole[1]}
view=[Math.max(a,whole[0]),b]}
function near(list,x,get){let best=null,d=(view[1]-view[0])/80;for(const i of list){const e=Math.abs(get(i)-x)
if(e<d){d=e;best=i}}return best}
function tell(event){const x=at(event);if(x<view[0]||x>view[1]){told.style.display='none';return}
const step=Math.round(x);let lo=0,hi=data.points.length
while(hi-lo>1){const m=(lo+hi)>>1;if(data.points[m][0]<=step)lo=m;else hi=m}
const lines=[];if(data.points.length){const s=data.points[lo][1];lines.push(`${data.unit} ${number(step)}`,
`scale ${typeof s==='number'?number(s)+power(s):s}`)}
const mark=near(data.marks,x,m=>m.x);if(mark)lines.push(mark.label)
const hit=near(data.events,x,e=>e);if(hit!==null)lines.push(`overflow at ${number(hit)}`)
told.textContent=lines.join('\n');told.style.display='block'
const r=svg.parentElement.getBoundingClientRect(),room=told.offsetWidth+16,left=event.clientX-r.left
told.style.left=(left+room>r.width?left-room:left+12)+'px';told.style.top=event.clientY-r.top+12+'px'}
let from=null
svg.addEventListener('pointermove',e=>{if(from!==null){const d=from-at(e);clamp(view[0]+d,view[1]+d);draw()}tell(e)})
svg.addEventListener('pointerdown',e=>{from=at(e);svg.setPointerCapture(e.pointerId)})
svg.addEventListener('pointerup',()=>{from=null})
svg.addEventListener('pointerleave',()=>{told.style.display='none'})
svg.addEventListener('dblclick',()=>{view=[...whole];draw()})
svg.addEventListener('wheel',e=>{e.preventDefault();const x=at(e),f=Math.exp(e.deltaY/400)
clamp(x-(x-view[0])*f,x+(view[1]-x)*f);draw();tell(e)},{passive:false})
draw()
</script>)";

/// A number as JSON has them; of those that it lacks, their name.
std::string json_number(double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  return fmt::format("{}", value);
}

/// Text as JSON inside a script: nothing in it ends the script, which "</" and "<!--" would.
std::string json_text(std::string_view text) {
  std::string safe = "\"";
  for (const char letter : escaped(text)) {
    if (letter == '<') {
      safe += "\\u003c";
      continue;
    }
    if (letter == '\\' || letter == '"') safe += '\\';
    safe += letter;
  }
  return safe + "\"";
}

std::string data_of(const Curve& curve) {
  const Frame frame = frame_of(curve);
  std::string data = fmt::format(R"({{"left":{},"right":{},"unit":{},"points":[)", json_number(frame.left),
                                 json_number(frame.right), json_text(curve.unit));
  const char* comma = "";
  for (const Point& point : thinned(curve.points, most_points_in_html)) {
    data += fmt::format("{}[{},{}]", comma, json_number(point.x), json_number(point.value));
    comma = ",";
  }
  data += R"(],"events":[)";
  const std::size_t every = curve.events.size() / most_events_in_html + 1;
  for (std::size_t i = 0; i < curve.events.size(); i += every) {
    data += fmt::format("{}{}", i == 0 ? "" : ",", json_number(curve.events[i]));
  }
  data += R"(],"marks":[)";
  for (std::size_t i = 0; i < curve.marks.size(); ++i) {
    data += fmt::format(R"({}{{"x":{},"label":{}}})", i == 0 ? "" : ",", json_number(curve.marks[i].x),
                        json_text(curve.marks[i].label));
  }
  return data + "]}";
}

}  // namespace

std::string html_of(const Curve& curve) {
  std::string page = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n";
  page += fmt::format("<meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n",
                      xml_escaped(curve.title));
  page += page_style;
  page += fmt::format("\n<figure>\n{}<div id=\"told\"></div>\n", svg_of(curve));
  page += "<figcaption class=\"hint\">wheel: zoom; drag: move; double click: all</figcaption>\n</figure>\n";
  page += fmt::format("<script id=\"data\" type=\"application/json\">{}</script>\n", data_of(curve));
  page += script;
  return page + "\n</html>\n";
}

}  // namespace tare::chart
