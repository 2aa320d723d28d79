// The tables (sorting, the filter by method, the sign that columns are out of sight), and the choice between
// light and dark. The charts read from this script which methods are wanted and whether the page is printed,
// and it calls them when that, the colours or the width change.
'use strict';

const page = { wanted: () => true, changed: [] };

(() => {
  const root = document.documentElement;

  // A heading becomes a button; numbers are sorted by their key, the rest as words.
  function sortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    const original = [...body.rows];
    heads.forEach((head, at) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute('aria-sort', 'none');
      const numeric = original.some(row => row.cells[at].classList.contains('number'));
      if (numeric) head.classList.add('number');
      button.addEventListener('click', () => sort(head, at, numeric));
    });
    function sort(head, at, numeric) {
      const next = { none: 'ascending', ascending: 'descending', descending: 'none' };
      const order = next[head.getAttribute('aria-sort')];
      heads.forEach(other => other.setAttribute('aria-sort', 'none'));
      head.setAttribute('aria-sort', order);
      const sign = order === 'descending' ? -1 : 1;
      const rows = [...original];
      if (order !== 'none') rows.sort((a, b) => compare(a.cells[at], b.cells[at], numeric, sign));
      body.append(...rows);
    }
  }

  // What has no value stands last, whichever way is sorted.
  function compare(a, b, numeric, sign) {
    const [x, y] = [a, b].map(cell => cell.dataset.key);
    if (numeric && (x !== undefined || y !== undefined)) {
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
      return sign * (Number(x) - Number(y));
    }
    return sign * a.textContent.localeCompare(b.textContent, undefined, { numeric: true });
  }

  function filterable() {
    const input = document.getElementById('filter');
    if (!input) return;
    input.closest('.filter').hidden = false;
    const apply = () => {
      const words = input.value.toLowerCase().split(/[,\s]+/).filter(word => word);
      page.wanted = method => !words.length || words.some(word => method.toLowerCase().includes(word));
      const rows = [...document.querySelectorAll('#results tbody tr')];
      for (const row of rows) row.hidden = !page.wanted(row.cells[0].textContent);
      const left = rows.filter(row => !row.hidden).length;
      document.getElementById('filtered').textContent = words.length ? `${left} of ${rows.length} rows` : '';
      page.changed.forEach(redraw => redraw());
    };
    input.addEventListener('input', apply);
  }

  // The edge of a table fades where columns are out of sight behind it.
  function fades(scroll) {
    const update = () => {
      const hidden = scroll.scrollWidth - scroll.clientWidth - scroll.scrollLeft;
      scroll.classList.toggle('cut', hidden > 1);
    };
    scroll.addEventListener('scroll', update, { passive: true });
    new ResizeObserver(update).observe(scroll);
    update();
  }

  function theme() {
    const button = document.getElementById('theme');
    const system = matchMedia('(prefers-color-scheme: dark)');
    const dark = () => (root.dataset.theme || (system.matches ? 'dark' : 'light')) === 'dark';
    const show = () => {
      button.textContent = dark() ? 'Light' : 'Dark';
      page.changed.forEach(redraw => redraw());
    };
    button.hidden = false;
    button.addEventListener('click', () => { root.dataset.theme = dark() ? 'light' : 'dark'; show(); });
    system.addEventListener('change', show);
    // Paper is white. What is folded is not on it.
    let before;
    addEventListener('beforeprint', () => {
      before = root.dataset.theme;
      root.dataset.theme = 'light';
      page.printing = true;
      show();
    });
    addEventListener('afterprint', () => {
      if (before) root.dataset.theme = before; else delete root.dataset.theme;
      page.printing = false;
      show();
    });
    show();
  }

  // Titles and names are cut into lines for a width: another one needs them anew.
  function resized() {
    let [width, waiting] = [root.clientWidth];
    addEventListener('resize', () => {
      if (root.clientWidth === width) return;
      width = root.clientWidth;
      clearTimeout(waiting);
      waiting = setTimeout(() => page.changed.forEach(redraw => redraw()), 150);
    });
  }

  document.getElementById('unscripted')?.remove();
  document.querySelectorAll('table').forEach(sortable);
  document.querySelectorAll('.scroll').forEach(fades);
  filterable();
  theme();
  resized();
})();
