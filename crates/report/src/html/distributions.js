// How the samples of the methods at one point are spread: cumulated, as boxes, in their order; and their
// ratios to the reference.
'use strict';

const distributions = context => {
  const { $, data, several, label, metricOf, phone, width, tall, draw } = context;
  const [P0, P25, P50, P75, P100] = [0, 2, 3, 4, 7];
  // More lines than these are no more to be told apart; the legend brings the others.
  const SEEN_AT_FIRST = 7;
  const ROWS_MAX = 60;
  const DOTS_MAX = 500;
  const english = new Intl.NumberFormat('en');
  const group = number => english.format(number);

  // What was shown or hidden by hand, by name.
  const picked = new Map();

  // The cells at the chosen point that have the metric, and whether each is drawn as a line; what runs
  // have of one method is side by side.
  function chosen(metric) {
    const place = data.points[Number($('place').value)];
    const cells = place.cells.filter(at => data.cells[at].columns[metric.name] && page.wanted(data.cells[at].method));
    const methods = [...new Set(cells.map(at => data.cells[at].method))];
    const first = new Set(methods.slice(0, several ? 3 : SEEN_AT_FIRST));
    for (const ratio of place.ratios.slice(0, 1)) first.add(ratio.reference);
    const rank = at => methods.indexOf(data.cells[at].method) * data.runs.length + data.cells[at].run;
    return cells.sort((a, b) => rank(a) - rank(b)).map(at => {
      const cell = data.cells[at];
      const name = label(cell);
      return { at, cell, column: cell.columns[metric.name], name, seen: picked.get(name) ?? first.has(cell.method), ...shapes.style(data, cell) };
    });
  }

  const seen = list => list.filter(one => one.seen);

  function title(id, words, list) {
    const place = data.points[Number($('place').value)];
    const all = list.map(one => one.column.n);
    const [least, most] = [Math.min(...all), Math.max(...all)];
    const n = least === most ? group(most) : `${group(least)} to ${group(most)}`;
    $(`${id}-title`).textContent = [words, place.at ? ` at ${place.at}` : '', all.length ? `, n = ${n}` : ''].join('');
  }

  const trace = (one, extra) => ({ name: shapes.text(shapes.short(one.name, 44)), ...extra });

  // Steps up by one sample each, or between quantiles.
  function steps({ n, drawn }) {
    const values = drawn.quantiles.length ? drawn.quantiles : [...drawn.middle].sort((a, b) => a - b);
    const rank = i => (drawn.quantiles.length ? Math.round(i * (n - 1) / (values.length - 1)) : i);
    return { x: values, y: values.map((_, i) => 100 * (rank(i) + 1) / n) };
  }

  function ecdf(metric, list, log) {
    const { scale, axis } = shapes.axis(metric, list.flatMap(one => one.column.p), log);
    const traces = list.map(one => {
      const { x, y } = steps(one.column);
      return trace(one, { type: 'scatter', mode: 'lines', x: [x[0], ...x].map(v => v / scale), y: [0, ...y], line: { shape: 'hv', color: one.colour, dash: one.dash, width: 2 }, hovertemplate: '%{y:.1f} % ≤ %{x:.4~g}' });
    });
    const y = { ...shapes.plain('share of samples [%]'), range: [0, 100.5] };
    title('ecdf', `Distribution of ${metric.title}`, list);
    draw('ecdf', traces, shapes.layout(width('ecdf'), { height: tall(), xaxis: axis, yaxis: y }));
  }

  // Words at the right of a row.
  const beside = (y, words) => ({ x: 1.01, xref: 'paper', xanchor: 'left', y, text: words, showarrow: false, font: { size: 12, color: shapes.colour('--soft') } });

  function boxes(metric, list, log) {
    const rows = list.slice(0, ROWS_MAX).reverse();
    const { scale, axis } = shapes.axis(metric, rows.flatMap(one => one.column.p), log);
    const traces = rows.map((one, row) => {
      const { p, n, drawn } = one.column;
      const dots = drawn.of === 1 && n <= DOTS_MAX;
      const at = i => [p[i] / scale];
      return {
        type: 'box', orientation: 'h', y: [row], q1: at(P25), median: at(P50), q3: at(P75), lowerfence: at(P0), upperfence: at(P100),
        ...(dots ? { x: [drawn.middle.map(v => v / scale)], boxpoints: 'all', jitter: 0.7, pointpos: 0 } : { boxpoints: false }),
        marker: { color: one.colour, size: 3, opacity: 0.45 }, line: { color: one.colour, width: 1.5 }, fillcolor: shapes.faint(one.colour, 0.18),
        name: shapes.text(one.name), width: 0.7, hoveron: 'boxes',
      };
    });
    const names = rows.map(one => shapes.short(one.name, phone() ? 16 : 40));
    const y = { ...shapes.plain(''), tickmode: 'array', tickvals: rows.map((_, i) => i), ticktext: names.map(shapes.text), range: [-0.6, rows.length - 0.4], zeroline: false };
    const counts = phone() ? [] : rows.map((one, row) => beside(row, `n = ${group(one.column.n)}`));
    title('box', `Quartiles of ${metric.title}`, list);
    draw('box', traces, shapes.layout(width('box'), { height: 70 + rows.length * (phone() ? 24 : 28), margin: { l: shapes.wide(names), r: phone() ? 16 : 90, t: 8 }, xaxis: axis, yaxis: y, annotations: counts }));
  }

  // The median of each value with up to half a window of neighbours on either side.
  function smooth(values) {
    const half = Math.max(1, Math.floor(values.length / 24));
    return values.map((_, i) => {
      const near = values.slice(Math.max(0, i - half), i + half + 1).sort((a, b) => a - b);
      return near[Math.floor((near.length - 1) / 2)];
    });
  }

  // Whether sessions are marked.
  function order(metric, list, log) {
    const { scale, axis } = shapes.axis(metric, list.flatMap(one => one.column.p), log);
    const traces = list.flatMap(one => {
      const { drawn, n } = one.column;
      const x = drawn.middle.map((_, i) => Math.min((i + 0.5) * drawn.of + 0.5, n));
      const scaled = values => values.map(v => v / scale);
      const line = trace(one, { type: 'scatter', mode: 'lines', x, y: scaled(smooth(drawn.middle)), line: { color: one.colour, dash: one.dash, width: 2 }, hoverinfo: 'skip' });
      if (drawn.of > 1) {
        const band = trace(one, { type: 'scatter', mode: 'lines', x: [...x, ...[...x].reverse()], y: scaled([...drawn.greatest, ...[...drawn.least].reverse()]), fill: 'toself', fillcolor: shapes.faint(one.colour, 0.15), line: { width: 0 }, hoverinfo: 'skip' });
        return [band, line];
      }
      const dots = trace(one, { type: 'scatter', mode: 'markers', x, y: scaled(drawn.middle), marker: { color: one.colour, size: 4, opacity: 0.5, symbol: one.symbol }, hovertemplate: 'sample %{x}: %{y:.4~g}' });
      return [dots, line];
    });
    const longest = [...list].sort((a, b) => b.column.n - a.column.n)[0];
    const starts = longest ? longest.cell.sessions.slice(1) : [];
    const lines = starts.length > 60 ? [] : starts.map(start => ({ type: 'line', x0: start + 0.5, x1: start + 0.5, yref: 'paper', y0: 0, y1: 1, layer: 'below', line: { color: shapes.colour('--rule'), width: 1, dash: 'dot' } }));
    const x = { ...shapes.plain(phone() ? 'sample, in order' : 'sample, in the order in which they were taken'), tickformat: ',d', zeroline: false };
    title('order', `Samples of ${metric.title} in their order`, list);
    draw('order', traces, shapes.layout(width('order'), { height: tall(), xaxis: x, yaxis: axis, shapes: lines }));
    return lines.length > 0;
  }

  function ratios() {
    const place = data.points[Number($('place').value)];
    const rows = place.ratios.filter(ratio => page.wanted(data.cells[ratio.cell].method)).sort((a, b) => b.ratio - a.ratio).slice(-ROWS_MAX);
    $('ratio-figure').hidden = !rows.length;
    if (!rows.length) return;
    const decided = ratio => ratio.verdict === 'faster' || ratio.verdict === 'slower';
    const values = rows.flatMap(ratio => [ratio.low ?? ratio.ratio, ratio.high ?? ratio.ratio, 1]);
    const less = rows.filter(ratio => ratio.less_wait).length;
    const time = ['time', less ? ' without the wait for a CPU' : '', less && less < rows.length ? ', where that is known,' : ''].join('');
    const references = [...new Set(rows.map(ratio => ratio.reference))].join(', ');
    const { axis } = shapes.axis({ title: `${time} relative to ${references}`, units: [['', 1]] }, values, true);
    const marks = rows.map(ratio => shapes.style(data, data.cells[ratio.cell]).colour);
    const words = rows.map(ratio => `× ${shapes.ratio(ratio.ratio)}, ${ratio.verdict}`);
    const trace = {
      type: 'scatter', mode: 'markers', x: rows.map(r => r.ratio), y: rows.map((_, i) => i),
      error_x: { type: 'data', symmetric: false, array: rows.map(r => (r.high ?? r.ratio) - r.ratio), arrayminus: rows.map(r => r.ratio - (r.low ?? r.ratio)), color: shapes.colour('--soft'), thickness: 1.5, width: 4 },
      marker: { size: 9, color: marks.map((c, i) => (decided(rows[i]) ? c : shapes.colour('--back'))), line: { color: marks, width: 2 } },
      text: words, hovertemplate: '%{text}<extra></extra>',
    };
    const names = rows.map(ratio => shapes.short(label(data.cells[ratio.cell]), phone() ? 16 : 40));
    // On a phone the words are below the names.
    const ticks = names.map((name, i) => shapes.joined(phone() ? [name, words[i]] : [name]));
    const y = { ...shapes.plain(''), tickmode: 'array', tickvals: rows.map((_, i) => i), ticktext: ticks, range: [-0.6, rows.length - 0.4], zeroline: false };
    const one = { type: 'line', x0: 1, x1: 1, yref: 'paper', y0: 0, y1: 1, line: { color: shapes.colour('--soft'), width: 1.5, dash: 'dash' } };
    const annotations = phone() ? [] : words.map((text, row) => beside(row, text));
    const left = shapes.wide(phone() ? [...names, ...words] : names);
    title('ratio', `T${time.slice(1)} relative to that of ${references}`, []);
    draw('ratio', [trace], shapes.layout(width('ratio'), { height: 70 + rows.length * (phone() ? 44 : 26), margin: { l: left, r: phone() ? 16 : 132, t: 8 }, xaxis: axis, yaxis: y, shapes: [one], annotations }));
  }

  function notes(list, divided) {
    const thinned = list.filter(one => one.column.drawn.of > 1);
    const most = Math.max(0, ...thinned.map(one => one.column.n));
    const first = thinned[0]?.column.drawn;
    $('order-note').textContent = divided ? ' Dotted: a new session, with fresh processes.' : '';
    const say = (id, words) => { $(id).textContent += thinned.length ? ` ${words}` : ''; };
    $('ecdf-note').textContent = '';
    say('ecdf-note', thinned.length && `Of up to ${group(most)} samples ${group(first.quantiles.length)} quantiles are drawn, from the least to the greatest sample.`);
    say('order-note', thinned.length && `Of up to ${group(most)} samples each method's are drawn in groups of up to ${group(Math.max(...thinned.map(one => one.column.drawn.of)))} that follow each other: the band is from the least to the greatest of a group, the line the median.`);
    const boxes = list.length > ROWS_MAX ? ` The first ${ROWS_MAX} of ${list.length} are drawn.` : '';
    const dots = list.some(one => one.column.drawn.of === 1 && one.column.n <= DOTS_MAX) ? ' Dots: every sample.' : ` More than ${DOTS_MAX} samples are not drawn one by one.`;
    $('box-note').textContent = dots + boxes;
    const hidden = list.filter(one => !one.seen).length;
    if (hidden) $('ecdf-note').textContent += ` ${hidden} more can be chosen above.`;
  }

  function all() {
    const metric = metricOf($('metric'));
    const list = chosen(metric);
    const log = $('log').checked;
    ecdf(metric, seen(list), log);
    boxes(metric, list, log);
    const divided = order(metric, seen(list), log);
    ratios();
    notes(list, divided);
    shapes.legend($('legend'), list, name => {
      picked.set(name, !list.find(one => one.name === name).seen);
      all();
    });
  }

  // Logarithmic where the fastest and the slowest are far apart.
  function suggestLog() {
    const all = chosen(metricOf($('metric'))).flatMap(one => [one.column.p[P0], one.column.p[P100]]).filter(v => v > 0);
    $('log').checked = Math.max(...all) / Math.min(...all) > 8;
  }

  return { draw: all, suggestLog };
};
