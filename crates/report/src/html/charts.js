// The charts: what lies in the page as data, drawn by the library that lies beside it.
'use strict';

(async () => {
  const $ = id => document.getElementById(id);
  const data = JSON.parse($('charts-data').textContent);
  if (!data.points.length) return;
  const several = data.runs.length > 1;
  const config = { responsive: true, displaylogo: false, doubleClick: 'reset', modeBarButtonsToRemove: ['select2d', 'lasso2d', 'autoScale2d'], toImageButtonOptions: { format: 'svg' } };

  // The width of a chart on paper.
  const PAPER = 660;

  // The charts that are not drawn yet, and how each is drawn.
  const waiting = new Map();
  let opening = true;

  function draw(target, traces, layout) {
    const div = typeof target === 'string' ? $(target) : target;
    const drawNow = () => {
      waiting.delete(div);
      div.style.minHeight = '';
      const size = page.printing ? { width: PAPER } : { width: undefined, autosize: true };
      Plotly.react(div, traces, { ...layout, ...size }, config);
    };
    if (!opening) return drawNow();
    // Its place is kept, so that nothing moves when it comes, and what is in sight is known.
    div.style.minHeight = `${layout.height}px`;
    waiting.set(div, drawNow);
  }

  function inSight(div) {
    const { top, bottom } = div.getBoundingClientRect();
    return top < innerHeight && bottom > 0;
  }

  // After the frame that shows what is drawn by now; a page that is in the background has no frames.
  const task = () => new Promise(done => setTimeout(done));
  const frame = () => (document.hidden ? task() : new Promise(done => requestAnimationFrame(() => setTimeout(done))));
  const mark = name => { document.documentElement.dataset[name] = String(Math.round(performance.now())); };

  // First what is in sight, then the rest chart by chart, so that a reader neither waits nor is stopped
  // for what is further down. What is switched or printed before that is drawn at once, and waits no more.
  async function drawWaiting() {
    for (const div of [...waiting.keys()].filter(inSight)) waiting.get(div)();
    await frame();
    mark('seen');
    while (waiting.size) {
      await task();
      const divs = [...waiting.keys()];
      const next = divs.find(inSight) ?? divs[0];
      // A panel that was taken away meanwhile, or a chart that was hidden.
      if (next && (!next.isConnected || next.closest('[hidden]'))) waiting.delete(next);
      waiting.get(next)?.();
    }
    await frame();
    mark('drawn');
  }

  const phone = () => !page.printing && document.documentElement.clientWidth < 640;
  const context = {
    $, data, several, draw,
    label: cell => (several ? `${cell.method} · ${data.runs[cell.run]}` : cell.method),
    metricOf: select => data.metrics.find(metric => metric.name === select.value),
    phone,
    // A page that nobody sees has no width.
    width: target => (page.printing ? PAPER : (typeof target === 'string' ? $(target) : target).clientWidth || PAPER),
    tall: () => (page.printing ? 240 : phone() ? 320 : 400),
  };
  const parts = { distributions: distributions(context), sweeps: sweeps(context) };

  function choices(select, names) {
    select.append(...names.map(([value, name]) => new Option(name, value)));
  }

  async function library() {
    const text = atob($('library').textContent);
    const packed = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i += 1) packed[i] = text.charCodeAt(i);
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    const script = document.createElement('script');
    script.textContent = await new Response(unpacked).text();
    document.head.append(script);
  }

  function controls() {
    const metrics = data.metrics.map(metric => [metric.name, `${metric.title} (${metric.name})`]);
    choices($('metric'), metrics);
    choices($('place'), data.points.map((place, at) => [String(at), place.at || 'the only one']));
    $('place-label').hidden = data.points.length < 2;
    for (const id of ['metric', 'place']) $(id).addEventListener('change', () => { parts.distributions.suggestLog(); parts.distributions.draw(); });
    $('log').addEventListener('change', parts.distributions.draw);
    page.changed.push(parts.distributions.draw);
    if (!data.sweeps.length) return;
    $('sweep-section').hidden = false;
    choices($('sweep'), data.sweeps.map((sweep, at) => [String(at), sweep.ladder ? `${sweep.param} (latency of memory)` : sweep.param]));
    choices($('sweep-metric'), metrics);
    for (const id of ['sweep', 'sweep-metric', 'sweep-kind', 'sweep-log-x', 'sweep-log-y']) $(id).addEventListener('change', parts.sweeps.draw);
    page.changed.push(parts.sweeps.draw);
  }

  try {
    await library();
    $('charts').hidden = false;
    controls();
    parts.distributions.suggestLog();
    if (data.sweeps.length) parts.sweeps.draw();
    parts.distributions.draw();
    opening = false;
    await drawWaiting();
  } catch (error) {
    for (const div of waiting.keys()) div.style.minHeight = '';
    $('trouble').hidden = false;
    $('trouble').textContent = `The charts could not be drawn: ${error.message}. The tables are complete.`;
    console.error(error);
  }
})();
