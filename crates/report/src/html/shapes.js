// What all charts have in common: colours, units, ticks, names.
'use strict';

const shapes = (() => {
  // Okabe and Ito, after the ink of the page: told apart by readers who see few colours, and in sight on
  // black and on white. The files of `report --svg` have the same colours.
  const PALETTE = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];
  const DASHES = ['solid', 'dash', 'dot', 'dashdot', 'longdash'];
  const SYMBOLS = ['circle', 'square', 'diamond', 'triangle-up', 'x', 'cross', 'star'];
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Text for Plotly, which takes some markup and entities for what they are.
  const text = name => name.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
  const short = (name, max = 26) =>
    name.length <= max ? name : `${name.slice(0, max / 2)}…${name.slice(1 - max / 2)}`;

  // A method keeps its colour wherever it is drawn; beyond the colours there are dashes and symbols.
  function style(data, cell) {
    const palette = [colour('--ink'), ...PALETTE];
    const turn = Math.floor(cell.number / palette.length);
    return {
      colour: palette[cell.number % palette.length],
      dash: cell.yardstick && data.runs.length === 1 ? 'dot' : DASHES[(data.runs.length > 1 ? cell.run : turn) % DASHES.length],
      symbol: SYMBOLS[(turn + cell.run) % SYMBOLS.length],
    };
  }

  function faint(hex, alpha) {
    const [r, g, b] = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
    return `rgba(${r},${g},${b},${alpha})`;
  }

  // The unit for a value: the largest that does not exceed it.
  const unitOf = (units, value) => units.findLast(unit => Math.abs(value) >= unit[1] * 0.9995) || units[0];

  const digits = value => String(Number(value.toPrecision(3)));

  // With as many digits as the table has.
  const ratio = value => (value < 100 ? value.toPrecision(3) : String(Math.round(value)));

  function amount(units, value) {
    const unit = unitOf(units, value);
    return `${digits(value / unit[1])} ${unit[0]}`.trim();
  }

  // Ticks of a logarithmic axis, each in the unit that fits it.
  function logTicks(units, low, high) {
    const base = units.some(unit => unit[1] === 1024) ? 2 : 10;
    const steps = base === 2 ? [[1, 32], [1, 4, 16, 64, 256], null]
      : [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 8]];
    let found = [];
    for (const step of steps) {
      found = [];
      const size = base === 2 ? 1024 : 10;
      const first = Math.floor(Math.log(low) / Math.log(size));
      const last = Math.ceil(Math.log(high) / Math.log(size));
      for (let power = first; power <= last; power += 1) {
        const mantissas = step || [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
        found.push(...mantissas.map(mantissa => mantissa * size ** power));
      }
      found = found.filter(value => value >= low * 0.999 && value <= high * 1.001);
      if (found.length >= 4) break;
    }
    while (found.length > 9) found = found.filter((_, at) => at % 2 === 0);
    return found;
  }

  // About how wide a letter of a title is, and how high a line of it, in pixels.
  const [TITLE, LETTER, LINE] = [14, 7.5, 18];

  // The words on lines that are no wider than this; a longer word is divided.
  function lines(words, width) {
    const most = Math.max(8, Math.floor(width / LETTER));
    const found = [''];
    for (const word of words.split(' ').flatMap(word => word.match(new RegExp(`.{1,${most}}`, 'gsu')) ?? [])) {
      const last = found.at(-1);
      if (last && last.length + 1 + word.length > most) found.push(word);
      else found[found.length - 1] = last ? `${last} ${word}` : word;
    }
    return found;
  }

  const joined = lines => lines.map(text).join('<br>');

  // An axis for values of a metric: its title names the unit. Values are drawn in the unit of `scale`.
  function axis(metric, values, log) {
    const positive = values.filter(value => value > 0).sort((a, b) => a - b);
    const middle = positive[Math.floor(positive.length / 2)] || 1;
    const unit = unitOf(metric.units, middle);
    const common = { gridcolor: colour('--grid'), linecolor: colour('--rule'), zerolinecolor: colour('--rule') };
    if (!log || !positive.length) {
      const title = unit[0] ? `${metric.title} [${unit[0]}]` : metric.title;
      return { scale: unit[1], axis: { ...common, type: 'linear', title, tickformat: '~g', rangemode: 'normal' } };
    }
    const [low, high] = [positive[0], positive[positive.length - 1]];
    const ticks = logTicks(metric.units, low / 1.2, high * 1.2);
    const shown = ticks.length > 2 ? {
      tickmode: 'array', tickvals: ticks.map(value => value / unit[1]), ticktext: ticks.map(value => amount(metric.units, value)),
    } : { tickformat: '~g', nticks: 6, dtick: undefined };
    const title = `${metric.title} [${ticks.length > 2 ? 'log' : [unit[0], 'log'].filter(word => word).join(', ')}]`;
    return { scale: unit[1], axis: { ...common, type: 'log', title, ...shown } };
  }

  // Of a chart of this width. The titles of its axes are whole: they have as many lines as they need, and
  // the chart has room for them.
  function layout(width, { height, margin, xaxis, yaxis, ...extra }) {
    const sides = { l: 78, r: 16, t: 12, b: 48, ...margin };
    const beside = lines(yaxis.title, height - sides.t - sides.b);
    sides.l += LINE * (beside.length - 1);
    const below = lines(xaxis.title, width - sides.l - sides.r);
    const more = LINE * (below.length - 1);
    sides.b += more;
    const title = lines => ({ text: joined(lines), font: { size: TITLE } });
    const font = { family: getComputedStyle(document.body).fontFamily, size: 13, color: colour('--ink') };
    return {
      paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', font,
      height: height + more, margin: sides, xaxis: { ...xaxis, title: title(below) }, yaxis: { ...yaxis, title: title(beside) },
      hovermode: 'closest', dragmode: false,
      hoverlabel: { bgcolor: colour('--panel'), bordercolor: colour('--rule'), font: { ...font, size: 12 }, namelength: -1 },
      showlegend: false, ...extra,
    };
  }

  // About how wide a chart's names are.
  const wide = names => 14 + 7.4 * Math.max(0, ...names.map(name => name.length));

  // Buttons that show and hide what is drawn: `entries` are a name, whether it is shown, and its style.
  function legend(place, entries, toggled) {
    place.replaceChildren(...entries.map(({ name, seen, colour: line, dash }) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.setAttribute('aria-pressed', String(seen));
      const mark = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
      mark.setAttribute('viewBox', '0 0 28 8');
      mark.setAttribute('aria-hidden', 'true');
      const stroke = document.createElementNS('http://www.w3.org/2000/svg', 'path');
      stroke.setAttribute('d', 'M0 4H28');
      stroke.setAttribute('stroke', line);
      stroke.setAttribute('stroke-dasharray', { dash: '7 4', dot: '2 3', dashdot: '7 3 2 3', longdash: '12 4' }[dash] || 'none');
      mark.append(stroke);
      button.append(mark, short(name, 44));
      button.addEventListener('click', () => {
        const at = [...place.children].indexOf(button);
        toggled(name);
        // The buttons are new: the place of the keyboard stays.
        place.children[at]?.focus();
      });
      return button;
    }));
  }

  const plain = title => ({ title, gridcolor: colour('--grid'), linecolor: colour('--rule'), zerolinecolor: colour('--rule') });

  return { LINE, colour, style, faint, text, short, lines, joined, amount, ratio, axis, plain, layout, wide, legend };
})();
