// A flame graph: the frame under the pointer is read out, a click zooms, threads can be chosen and frames searched. Without this the picture stands still.
for (const flame of document.querySelectorAll(".flame")) {
  const find = (name) => flame.querySelector(name);
  const svg = find(".flame-frames");
  const text = (name) => find(name).textContent.trim();
  const names = find(".flame-names").textContent.split("\n");
  const styles = text(".flame-styles").split(" ");
  const numbers = text(".flame-nodes").split(" ").map(Number);
  const node = (name, samples, style, parent) => ({ name, samples, style, parent, children: [] });
  const top = node("all that is shown", 0, "k-mixed", null);
  const open = [top];
  for (let at = 0; at + 3 < numbers.length; at += 4) {
    const [depth, name, samples, style] = numbers.slice(at, at + 4);
    const parent = open[depth];
    const frame = node(names[name], samples, styles[style], parent);
    parent.children.push(frame);
    open.length = depth + 1;
    open.push(frame);
  }
  const groups = top.children;
  const buttons = [...flame.querySelectorAll(".flame-groups button")];
  const detail = find(".flame-detail");
  const introduction = detail.textContent;
  const percent = (share) => `${Number((share * 100).toPrecision(3))} %`;
  const count = (n) => n.toString().replace(/\B(?=(\d{3})+$)/g, ",");
  const label = (name) => (name.includes(" ") ? name : name.split("/").pop() || name);
  const kinds = new Map([...flame.querySelectorAll("[data-style]")].map((entry) => [entry.dataset.style, entry.textContent.trim()]));
  const frames = new WeakMap();
  const row = 18;
  let focus = top;
  let wanted = "";
  const matches = (frame) => wanted && frame.parent && frame.name.toLowerCase().includes(wanted);
  const element = (name, attributes, parent) => {
    const made = document.createElementNS(svg.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent.append(made);
    return made;
  };
  const draw = () => {
    const old = svg.querySelector(".flame-drawn");
    const drawn = element("g", { class: "flame-drawn" }, svg);
    old.remove();
    const narrowest = 0.7 / (svg.getBoundingClientRect().width || 1000);
    let deepest = 0;
    const one = (frame, x, width, depth, outer) => {
      deepest = Math.max(deepest, depth);
      const style = `frame ${frame.style}${outer ? " outer" : ""}${matches(frame) ? " hit" : ""}`;
      const place = { class: style, x: `${x * 100}%`, y: depth * row, width: `${width * 100}%`, height: row };
      const made = element("svg", place, drawn);
      element("rect", { width: "100%", height: "100%" }, made);
      if (width > 20 * narrowest) element("text", { x: 3, y: 13 }, made).textContent = label(frame.name);
      frames.set(made, frame);
    };
    const trunk = [];
    for (let frame = focus.parent; frame; frame = frame.parent) trunk.unshift(frame);
    trunk.forEach((frame, depth) => one(frame, 0, 1, depth, true));
    const below = [[focus, 0, trunk.length]];
    while (below.length) {
      const [frame, x, depth] = below.pop();
      const width = frame.samples / focus.samples;
      if (!(width >= narrowest)) continue;
      one(frame, x, width, depth, false);
      let start = x;
      for (const child of frame.children) {
        if (frame === top && !child.shown) continue;
        below.push([child, start, depth + 1]);
        start += child.samples / focus.samples;
      }
    }
    const height = (deepest + 1) * row;
    if (flame.namespaceURI === svg.namespaceURI) flame.setAttribute("height", Number(flame.getAttribute("height")) - Number(svg.getAttribute("height")) + height);
    svg.setAttribute("height", height);
    svg.classList.toggle("searching", wanted !== "");
    find(".flame-found").textContent = wanted ? `${percent(found(top) / (top.samples || 1))} of what is shown is in frames with "${wanted}"` : "";
  };
  const found = (frame) => {
    if (matches(frame)) return frame.samples;
    return frame.children.filter((child) => frame !== top || child.shown).reduce((sum, child) => sum + found(child), 0);
  };
  const choose = () => {
    groups.forEach((group, index) => { group.shown = buttons[index].getAttribute("aria-pressed") === "true"; });
    top.samples = groups.reduce((sum, group) => sum + (group.shown ? group.samples : 0), 0);
    let root = focus;
    while (root.parent && root.parent !== top) root = root.parent;
    if (root !== top && !root.shown) focus = top;
    draw();
  };
  const at = (event) => {
    const place = event.target.closest(".frame");
    return place && frames.get(place);
  };
  svg.addEventListener("pointermove", (event) => {
    const frame = at(event);
    if (!frame) return;
    const ofFocus = focus === top ? "" : `, ${percent(frame.samples / focus.samples)} of ${label(focus.name)}`;
    const kind = kinds.has(frame.style) ? `; ${kinds.get(frame.style)}` : "";
    detail.textContent = `${frame.name}: ${count(frame.samples)} ${frame.samples === 1 ? "sample" : "samples"}, ${percent(frame.samples / top.samples)} of what is shown${ofFocus}${kind}`;
  });
  svg.addEventListener("pointerleave", () => { detail.textContent = introduction; });
  svg.addEventListener("click", (event) => {
    const frame = at(event);
    if (!frame) return;
    focus = frame;
    draw();
  });
  buttons.forEach((button) => button.addEventListener("click", () => {
    button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
    choose();
  }));
  find(".flame-search").addEventListener("input", (event) => {
    wanted = event.target.value.trim().toLowerCase();
    draw();
  });
  find(".flame-reset").addEventListener("click", () => {
    focus = top;
    draw();
  });
  flame.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    focus = top;
    draw();
  });
  flame.querySelectorAll(".flame-bar").forEach((bar) => bar.removeAttribute("hidden"));
  choose();
}
