// A metric over the values of a param, in panels that share their axes: as lines with the intervals of
// their medians, or as boxes at each value.
'use strict';

const sweeps = context => {
  const { $, data, several, metricOf, phone, width, tall, draw } = context;
  const [P0, P10, P25, P50, P75, P100] = [0, 1, 2, 3, 4, 7];

  const lineName = line => [line.method, line.kind, several ? data.runs[line.run] : ''].filter(word => word).join(' · ');
  const dropped = new Set();
  const linesOf = panel => panel.lines.filter(line => page.wanted(line.method) && !dropped.has(lineName(line)));

  function sweepLines(sweep, panel, metric, scale) {
    const middle = sweep.ladder ? P10 : P50;
    return linesOf(panel).flatMap(line => {
      const points = line.cells.map(([x, cell]) => ({ x, column: data.cells[cell].columns[metric.name] })).filter(point => point.column);
      if (!points.length) return [];
      const style = sweepStyle(line);
      const name = shapes.text(shapes.short(lineName(line), 44));
      const common = { name, type: 'scatter' };
      const x = points.map(point => point.x);
      const bound = (side, spare) => points.map(point => (sweep.ladder ? point.column.p[spare] : point.column[side] ?? point.column.p[spare]) / scale);
      const band = [...bound('low', sweep.ladder ? P0 : P25), ...bound('high', sweep.ladder ? P50 : P75).reverse()];
      return [
        { ...common, mode: 'lines', x: [...x, ...[...x].reverse()], y: band, fill: 'toself', fillcolor: shapes.faint(style.colour, 0.2), line: { width: 0 }, hoverinfo: 'skip' },
        { ...common, mode: 'lines+markers', x, y: points.map(point => point.column.p[middle] / scale), line: { color: style.colour, dash: style.dash, width: 2 }, marker: { symbol: style.symbol, size: 6 }, text: points.map(point => shapes.amount(metric.units, point.column.p[middle])), hovertemplate: '%{text} at %{x}' },
      ];
    });
  }

  // Of a ladder the kinds of pages have numbers of their own.
  const sweepStyle = line => shapes.style(data, { ...data.cells[line.cells[0][1]], number: line.number });

  // Beside each other where values of the param are the same: by a part of the distance between them.
  function sweepBoxes(sweep, panel, metric, scale, log) {
    const lines = linesOf(panel);
    const values = sweep.values.map(([x]) => x);
    const place = x => (log ? Math.log10(x) : x);
    const gaps = values.slice(1).map((x, i) => place(x) - place(values[i]));
    const room = 0.8 * Math.min(...gaps) / lines.length;
    return lines.map((line, at) => {
      const points = line.cells.map(([x, cell]) => ({ x, column: data.cells[cell].columns[metric.name] })).filter(point => point.column);
      const shift = (at - (lines.length - 1) / 2) * room;
      const { colour } = sweepStyle(line);
      const p = i => points.map(point => point.column.p[i] / scale);
      return {
        type: 'box', x: points.map(point => (log ? 10 ** (place(point.x) + shift) : point.x + shift)), q1: p(P25), median: p(P50), q3: p(P75), lowerfence: p(P0), upperfence: p(P100),
        width: room * 0.8, line: { color: colour, width: 1.5 }, fillcolor: shapes.faint(colour, 0.3), boxpoints: false,
        name: shapes.text(shapes.short(lineName(line), 44)),
      };
    });
  }

  function sweepPanel(sweep, panel, metric, all, wide) {
    const [logX, logY] = [$('sweep-log-x').checked && sweep.values[0][0] > 0, $('sweep-log-y').checked];
    const { scale, axis } = shapes.axis(metric, all, logY);
    const traces = $('sweep-kind').value === 'boxes' && !sweep.ladder ? sweepBoxes(sweep, panel, metric, scale, logX) : sweepLines(sweep, panel, metric, scale);
    const every = Math.ceil(sweep.values.length / (phone() ? 5 : 8));
    const ticks = sweep.values.filter((_, at) => at % every === 0);
    const x = { ...shapes.plain(logX ? `${sweep.param} [log]` : sweep.param), type: logX ? 'log' : 'linear', tickmode: 'array', tickvals: ticks.map(([v]) => v), ticktext: ticks.map(([, words]) => words), zeroline: false };
    const [low, high] = [Math.min(...all), Math.max(...all)].map(v => v / scale);
    const range = logY ? [Math.log10(low / 1.15), Math.log10(high * 1.15)] : [Math.min(0, low), high * 1.05];
    const caches = sweep.caches.filter(([, size]) => size > 0);
    const lines = caches.map(([, size]) => ({ type: 'line', x0: size, x1: size, yref: 'paper', y0: 0, y1: 1, line: { color: shapes.colour('--soft'), width: 1, dash: 'dot' } }));
    const names = caches.map(([name, size]) => ({ x: logX ? Math.log10(size) : size, y: 1, yref: 'paper', yanchor: 'bottom', text: name, showarrow: false }));
    const above = panel.title ? shapes.lines(panel.title, wide - 32) : [];
    const title = above.length ? { text: shapes.joined(above), font: { size: 14 }, x: 0.5, y: 1, yanchor: 'top', pad: { t: 6 } } : undefined;
    return [traces, shapes.layout(wide, { title, height: tall(), margin: { t: 26 + shapes.LINE * above.length }, xaxis: x, yaxis: { ...axis, range }, shapes: lines, annotations: names })];
  }

  function sweepLegend(sweep) {
    const entries = new Map();
    for (const panel of sweep.panels) {
      for (const line of panel.lines.filter(line => page.wanted(line.method))) {
        const name = lineName(line);
        entries.set(name, { name, seen: !dropped.has(name), ...sweepStyle(line) });
      }
    }
    shapes.legend($('sweep-legend'), [...entries.values()], name => {
      if (!dropped.delete(name)) dropped.add(name);
      all();
    });
  }

  function all() {
    const sweep = data.sweeps[Number($('sweep').value)];
    const metric = metricOf($('sweep-metric'));
    const boxes = $('sweep-kind').value === 'boxes' && !sweep.ladder;
    const cells = sweep.panels.flatMap(linesOf).flatMap(line => line.cells.map(([, cell]) => data.cells[cell].columns[metric.name])).filter(column => column);
    const all = cells.flatMap(({ p, low, high }) => (boxes ? [p[P0], p[P100]] : sweep.ladder ? [p[P0], p[P10], p[P50]] : [p[P50], low ?? p[P25], high ?? p[P75]])).filter(v => v > 0);
    const places = $('panels');
    sweepLegend(sweep);
    while (places.children.length > sweep.panels.length) places.lastChild.remove();
    // All of them before the first is drawn: how wide it is depends on whether it has a neighbour.
    while (places.children.length < sweep.panels.length) {
      const div = document.createElement('div');
      div.className = 'chart';
      div.setAttribute('role', 'img');
      places.append(div);
    }
    sweep.panels.forEach((panel, at) => {
      places.children[at].setAttribute('aria-label', `${metric.title} by ${sweep.param} ${panel.title}; the figures are in the table`);
      draw(places.children[at], ...sweepPanel(sweep, panel, metric, all, width(places.children[at])));
    });
    const kind = sweep.ladder ? 'Line: p10, as in the table of the terminal; band: p0 to p50. Dotted: the sizes of the caches, as the system announces them.'
      : boxes ? 'Box: p25, p50, p75; whiskers: p0 and p100.' : 'Line: p50; band: its 95 % interval, or p25 to p75 where there are too few samples for one.';
    const left = sweep.panels_left_out ? ` ${sweep.panels_left_out} more panels are not drawn.` : '';
    $('sweep-caption').textContent = kind + left;
  }

  return { draw: all };
};
