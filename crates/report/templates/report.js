// Everything reads without this: it opens folded parts for the printer and reads the curves out under the pointer.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
(() => {
  const plot = document.querySelector(".curves .plot[data-nines]");
  if (!plot) return;
  const { lowNs, highNs, nines } = plot.dataset;
  const cursor = plot.querySelector(".cursor");
  const curves = [...plot.querySelectorAll("polyline")].map((line) => ({
    number: line.dataset.number,
    points: line.getAttribute("points").split(" ").map((point) => point.split(",").map(Number)),
  }));
  const output = (number) => document.querySelector(`.curves output[data-number="${number}"]`);
  const time = (ns) => {
    const [value, unit] = ns < 1e5 ? [ns / 1e3, "µs"] : ns < 1e9 ? [ns / 1e6, "ms"] : [ns / 1e9, "s"];
    return `${value.toPrecision(3)} ${unit}`;
  };
  const at = (points, x) => {
    const after = points.findIndex((point) => point[0] >= x);
    if (after < 0) return null;
    const [x1, y1] = points[after];
    const [x0, y0] = points[Math.max(after - 1, 0)];
    return x1 === x0 ? y1 : y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
  };
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    const percentile = 100 * (1 - 10 ** (-share * nines));
    cursor.setAttribute("visibility", "visible");
    cursor.setAttribute("x1", `${share * 100}%`);
    cursor.setAttribute("x2", `${share * 100}%`);
    for (const { number, points } of curves) {
      const y = at(points, share * 1000);
      const ns = lowNs * (highNs / lowNs) ** (1 - y / 1000);
      output(number).textContent = y === null ? "" : `${percentile.toFixed(share * nines < 2 ? 1 : 3)} %: ${time(ns)}`;
    }
  });
  plot.addEventListener("pointerleave", () => {
    cursor.setAttribute("visibility", "hidden");
    curves.forEach(({ number }) => { output(number).textContent = ""; });
  });
})();
