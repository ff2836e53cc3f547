// The first page's picture, moved: `marks` says the same as `marks` in tools/pages/hero.py, and a test compares them.
"use strict";

const figure = document.getElementById("hero");
const form = document.getElementById("hero-controls");
const { FIXED, FRAME, BAR } = JSON.parse(figure.dataset.fixed);
const UNITS = [0, 1, 2];

function num(value) {
  const text = value.toFixed(2).replace(/\.?0+$/, "");
  return text === "-0" ? "0" : text.replace("-", "−");
}
const vec = values => `[${values.map(num).join(", ")}]`;
const pixels = value => value.toFixed(2);
const across = x => FRAME.left + (x - FRAME.low) * FRAME.width / (FRAME.high - FRAME.low);
const down = y => FRAME.top + (FRAME.ceiling - y) * FRAME.height / (FRAME.ceiling - FRAME.bottom);
const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

function forward(x, { W1, b1, activation }) {
  const z = UNITS.map(i => x * W1[i] + b1[i]);
  const h = activation === "relu" ? z.map(value => Math.max(value, 0)) : z;
  return { z, h, y: dot(h, FIXED.W2) + FIXED.b2 };
}

function line(slope, offset) {
  const term = slope === 1 ? "x" : slope === -1 ? "−x" : `${num(slope)} x`;
  if (slope === 0) return num(offset);
  return offset === 0 ? term : `${term} ${offset > 0 ? "+" : "−"} ${num(Math.abs(offset))}`;
}

const listed = words => words.length === 1 ? words[0] : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

function bends({ W1, b1, activation }) {
  const turns = new Map();
  for (const i of UNITS) {
    if (!W1[i] || activation !== "relu") continue;
    const at = -b1[i] / W1[i];
    turns.set(at, (turns.get(at) ?? 0) + FIXED.W2[i] * Math.abs(W1[i]));
  }
  return [...turns].filter(([at, turn]) => turn && FRAME.low < at && at < FRAME.high).map(([at]) => at).sort((a, b) => a - b);
}

function marks(values) {
  const { x, W1, b1, activation } = values;
  const relu = activation === "relu";
  const { z, h, y } = forward(x, values);
  const found = bends(values);
  const cut = z.map(value => relu && value < 0);
  const m = { "x.text": num(x), "y.text": num(y) };
  for (const i of UNITS) {
    const length = Math.min(Math.abs(z[i]) * BAR.unit, BAR.longest);
    m[`unit${i}.class`] = cut[i] ? "unit cut" : "unit";
    m[`rule${i}.text`] = line(W1[i], b1[i]);
    m[`z${i}.text`] = `z = ${num(z[i])}`;
    m[`h${i}.text`] = `h = ${num(h[i])}`;
    m[`bar${i}.y`] = pixels(BAR.base[i] - (z[i] > 0 ? length : 0));
    m[`bar${i}.height`] = pixels(length);
    m[`bar${i}.class`] = cut[i] ? "cutbar" : z[i] > 0 ? "positive" : "negative";
    m[`in${i}.stroke-width`] = pixels(1 + 2 * Math.abs(W1[i]));
    m[`out${i}.class`] = cut[i] ? "wire cut" : "wire";
    let [left, right] = [FRAME.low, FRAME.high];
    if (relu) {
      if (W1[i] > 0) left = Math.max(left, -b1[i] / W1[i]);
      else if (W1[i] < 0) right = Math.min(right, -b1[i] / W1[i]);
      else if (b1[i] < 0) right = left;
    }
    m[`on${i}.x`] = pixels(across(left));
    m[`on${i}.width`] = pixels(Math.max(0, across(right) - across(left)));
    m[`bend${i}.visibility`] = i < found.length ? "visible" : "hidden";
    m[`bend${i}.cx`] = pixels(across(found[i] ?? 0));
    m[`bend${i}.cy`] = pixels(down(forward(found[i] ?? 0, values).y));
  }
  m["curve.points"] = [FRAME.low, ...found, FRAME.high]
    .map(at => `${pixels(across(at))},${pixels(down(forward(at, values).y))}`).join(" ");

  const beyond = y > FRAME.ceiling || y < FRAME.bottom;
  const at = across(x), height = down(Math.min(Math.max(y, FRAME.bottom), FRAME.ceiling));
  const foot = y > 0 ? height + 14 : height - 14;
  m["here.x1"] = m["here.x2"] = m["dot.cx"] = pixels(at);
  m["dot.cy"] = pixels(height);
  m["dot.visibility"] = beyond ? "hidden" : "visible";
  m["beyond.points"] = `${pixels(at)},${pixels(height)} ${pixels(at - 9)},${pixels(foot)} ${pixels(at + 9)},${pixels(foot)}`;
  m["beyond.visibility"] = beyond ? "visible" : "hidden";
  m["value.text"] = `y = ${num(y)}`;
  const rising = dot(W1, UNITS.map(i => !relu || z[i] > 0 ? FIXED.W2[i] : 0)) > 0;
  const left = x > 1.5 || rising && x >= -1.5;
  const above = left === rising;
  m["value.x"] = pixels(left ? at - 13 : at + 13);
  m["value.text-anchor"] = left ? "end" : "start";
  m["value.y"] = pixels(Math.min(Math.max(above ? height - 10 : height + 24, FRAME.top + 18), FRAME.top + FRAME.height - 8));

  const numbers = `x = ${num(x)} gives z = ${vec(z)}.`;
  if (relu) {
    const where = found.length ? `at x = ${listed(found.map(num))}` : `between ${num(FRAME.low)} and ${num(FRAME.high)}`;
    const unseen = found.map(bend => forward(bend, values).y).filter(y => y > FRAME.ceiling || y < FRAME.bottom).length;
    m["finding.text"] = !found.length ? "No bend here" :
      `${found.length} bend${found.length > 1 ? "s" : ""}, where units switch${unseen ? `; ${unseen} beyond the frame` : ""}`;
    m["status.text"] = `${numbers} The ReLU cuts ${cut.filter(Boolean).length} of 3: h = ${vec(h)}, so y = ${num(y)}. ` +
      `The line ${found.length ? "bends" : "has no bend"} ${where}.`;
  } else {
    m["finding.text"] = "One straight line, three units or not";
    m["status.text"] = `${numbers} Nothing is cut, so y = ${num(y)}, and the three units together make ` +
      `one straight line: y = ${line(dot(W1, FIXED.W2), dot(b1, FIXED.W2) + FIXED.b2)}.`;
  }
  return m;
}

function read() {
  const value = name => form.elements[name].valueAsNumber;
  return { x: value("x"), W1: UNITS.map(i => value(`W1-${i}`)), b1: UNITS.map(i => value(`b1-${i}`)),
    activation: form.elements.activation.value };
}

function draw() {
  for (const [name, text] of Object.entries(marks(read()))) {
    const [id, attribute] = name.split(".");
    const element = document.getElementById(`hero-${id}`);
    if (attribute === "text") {
      if (element.textContent !== text) element.textContent = text;
    } else element.setAttribute(attribute, text);
  }
  for (const slider of form.querySelectorAll("input[type=range]")) {
    slider.nextElementSibling.textContent = num(slider.valueAsNumber);      // for the eye: a slider says its value itself
  }
}

form.addEventListener("input", draw);
form.addEventListener("reset", () => setTimeout(draw));   // after the controls have gone back
form.addEventListener("submit", event => event.preventDefault());
draw();                                                    // a browser that came back may keep the controls' places
