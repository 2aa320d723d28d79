// `bytelab report` in a real browser, as a reader opens it: from a file, without a network.
//
// BYTELAB is the program, CHROMIUM the browser, MILLION_REPORT (if set) a page of a million samples that the
// unit tests left, OPENINGS how often it is opened (an odd number, 11 if not set), SCREENSHOTS (if set) a directory for pictures to look at.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';

const program = resolve(process.env.BYTELAB || '../../../../target/release/bytelab');
const HOSTILE = '</script><b>"&';
let browser;
let dir;
const reports = {};

function bytelab(...args) {
  const env = { ...process.env, BYTELAB_STORE: join(dir, 'runs.sqlite'), BYTELAB_DATA_DIR: dir };
  return execFileSync(program, args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 28 });
}

function run(...args) {
  return JSON.parse(bytelab('run', 'reading', '--size', '256KiB', '--rounds', '24', '--json', ...args)).id;
}

function report(name, ...ids) {
  reports[name] = join(dir, `${name} #1 %41.html`);
  bytelab('report', ...ids, '-o', reports[name]);
}

before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'bytelab-report-'));
  const first = run('--method', 'read,mmap,buf-reader,read-fold,memory', '--label', HOSTILE);
  const second = run('--method', 'read,mmap,memory', '--label', 'after');
  const swept = run('--method', 'read,buf-reader', '--buffer', '4KiB..64KiB*4', '--parallel', '1,2');
  report('one', first);
  report('two', first, second);
  report('sweep', swept);
  // The reference and a method with names that are longer than a phone is wide.
  const [long, longer] = ['/usr /usr/bin /usr/lib', '/usr /usr/bin /usr/lib /usr/share /etc'].map(dirs => `ls -d ${dirs}`);
  report('bench', JSON.parse(bytelab('bench', long, longer, 'sleep 0.001', '-r', '20', '--json')).id);
  bytelab('report', swept, '--svg', join(dir, 'svg'));
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox'] });
});

after(async () => {
  await browser?.close();
  rmSync(dir, { recursive: true, force: true });
});

// Opens a page, and holds against it whatever a reader would be troubled by.
// `first` runs in the page before any of its own scripts.
async function open(path, options = {}, first = () => {}) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, ...options });
  const troubles = [];
  page.on('console', message => troubles.push(`console: ${message.text()}`));
  page.on('pageerror', error => troubles.push(`error: ${error.stack}`));
  page.on('dialog', dialog => { troubles.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', request => { if (!request.isNavigationRequest()) troubles.push(`request: ${request.url()}`); });
  await page.addInitScript(first);
  const address = new URL('file://');
  address.pathname = path.split('/').map(encodeURIComponent).join('/');
  await page.goto(address.href);
  await page.waitForFunction(() => document.documentElement.dataset.drawn || !document.getElementById('trouble').hidden, null, { timeout: 120_000 });
  return { page, troubles };
}

async function picture(page, name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`), fullPage: true });
}

async function done({ page, troubles }) {
  assert.equal(await page.locator('#trouble').isHidden(), true);
  assert.deepEqual(troubles, []);
  await page.close();
}

const methods = page => page.locator('#results tbody th:visible').allTextContents();

test('the page draws its charts, and names cannot do anything', async () => {
  const opened = await open(reports.one);
  const { page } = opened;
  for (const id of ['ratio', 'ecdf', 'box', 'order']) {
    assert.ok(await page.locator(`#${id} .main-svg`).count() > 0, id);
    assert.ok(await page.locator(`#${id} .xtitle`).first().textContent(), `${id} has a title at its axis`);
  }
  assert.ok((await page.locator('.facts').textContent()).includes(HOSTILE));
  for (const id of ['ecdf', 'box', 'order']) assert.match(await page.locator(`#${id}-title`).textContent(), /wall time.*, n = \d+/);
  assert.match(await page.locator('#ratio-title').textContent(), /^Time( without the wait for a CPU)? relative to that of read$/);
  assert.equal(await page.locator('#ecdf .scatterlayer .trace').count(), 5);
  await picture(page, 'light');
  await done(opened);
});

// In the page, at the moment at which the charts in sight are on the screen: for each chart whether it is in
// sight and whether it is drawn. Then what a reader may do at that moment, and the same again.
const atFirstSight = act => `{
  const charts = () => [...document.querySelectorAll('.chart')].filter(div => div.offsetWidth).map(div => {
    const { top, bottom } = div.getBoundingClientRect();
    return { id: div.id, inSight: top < innerHeight && bottom > 0, drawn: !!div.querySelector('.main-svg .xtitle') };
  });
  new MutationObserver(() => {
    window.charts = { seen: charts() };
    (${act})();
    window.charts.acted = charts();
  }).observe(document, { subtree: true, attributes: true, attributeFilter: ['data-seen'] });
}`;

const print = () => dispatchEvent(new Event('beforeprint'));

test('the charts in sight are drawn first, and paper does not wait for the rest', async () => {
  const opened = await open(reports.one, {}, atFirstSight(print));
  const { page } = opened;
  const { seen, acted } = await page.evaluate(() => window.charts);
  assert.ok(seen.some(chart => chart.inSight));
  for (const chart of seen) assert.equal(chart.drawn, chart.inSight, `${chart.id} at first sight`);
  for (const chart of acted) assert.ok(chart.drawn, `${chart.id} on paper`);
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  for (const chart of await page.$$eval('.chart', divs => divs.map(div => [div.id, div.style.minHeight]))) assert.equal(chart[1], '', `${chart[0]} keeps no place`);
  const [seenAt, drawnAt] = await page.evaluate(() => ['seen', 'drawn'].map(name => Number(document.documentElement.dataset[name])));
  assert.ok(seenAt <= drawnAt);
  await done(opened);
});

test('what is chosen before all is drawn is what is drawn', async () => {
  const choose = () => {
    const filter = document.getElementById('filter');
    filter.value = 'memory';
    filter.dispatchEvent(new Event('input'));
  };
  const opened = await open(reports.one, {}, atFirstSight(choose));
  const { page } = opened;
  assert.ok((await page.evaluate(() => window.charts.acted)).every(chart => chart.drawn));
  for (const id of ['ecdf', 'box']) assert.deepEqual(await page.$eval(`#${id}`, div => div.data.map(trace => trace.name)), ['memory'], id);
  await done(opened);
});

test('a chart that comes into sight is drawn before those above it', async () => {
  const opened = await open(reports.sweep, { viewport: { width: 600, height: 500 } }, atFirstSight(() => {
    document.getElementById('order').scrollIntoView();
    window.after = [];
    const watch = new MutationObserver(() => {
      for (const div of document.querySelectorAll('.chart')) if (div.querySelector('.main-svg .xtitle') && !window.after.includes(div.id)) window.after.push(div.id);
    });
    watch.observe(document.getElementById('charts'), { subtree: true, childList: true });
  }));
  const { page } = opened;
  const { seen } = await page.evaluate(() => window.charts);
  const before = seen.filter(chart => chart.drawn).map(chart => chart.id);
  const after = (await page.evaluate(() => window.after)).filter(id => id && !before.includes(id));
  assert.ok(after.includes('ecdf') && after.indexOf('order') < after.indexOf('ecdf'), after.join());
  await done(opened);
});

test('a page that is opened where nobody sees it has its charts when it is shown', async () => {
  const frame = join(dir, 'frame.html');
  writeFileSync(frame, `<iframe src="${encodeURIComponent(basename(reports.one))}" style="display: none; width: 900px; height: 700px"></iframe>`);
  const page = await browser.newPage();
  await page.goto(`file://${frame}`);
  const inner = page.frames()[1];
  await inner.waitForFunction(() => document.getElementById('charts')?.hidden === false, null, { polling: 100 });
  await page.$eval('iframe', frame => { frame.style.display = 'block'; });
  await inner.waitForFunction(() => document.documentElement.dataset.drawn, null, { polling: 100 });
  const missing = () => [...document.querySelectorAll('.chart')].filter(div => !div.closest('[hidden]') && !div.querySelector('.main-svg .xtitle')).map(div => div.id);
  assert.deepEqual(await inner.evaluate(missing), []);
  await page.close();
});

test('the table is sorted by mouse and by keyboard', async () => {
  const opened = await open(reports.one);
  const { page } = opened;
  const head = page.locator('#results thead th').filter({ hasText: 'wall' }).first();
  const at = (await page.locator('#results thead th').allTextContents()).findIndex(text => text.startsWith('wall'));
  const keys = () => page.$$eval('#results tbody tr', (rows, at) => rows.map(row => Number(row.cells[at].dataset.key)), at);
  const original = await methods(page);
  await head.getByRole('button').click();
  assert.equal(await head.getAttribute('aria-sort'), 'ascending');
  assert.deepEqual(await keys(), (await keys()).toSorted((a, b) => a - b));
  await head.getByRole('button').focus();
  await page.keyboard.press('Enter');
  assert.equal(await head.getAttribute('aria-sort'), 'descending');
  assert.deepEqual(await keys(), (await keys()).toSorted((a, b) => b - a));
  await page.keyboard.press('Space');
  assert.equal(await head.getAttribute('aria-sort'), 'none');
  assert.deepEqual(await methods(page), original);
  await page.locator('#results thead th').first().getByRole('button').click();
  assert.equal(await page.locator('#results thead th[aria-sort="ascending"]').count(), 1);
  await done(opened);
});

test('the filter holds for the table and the charts', async () => {
  const opened = await open(reports.one);
  const { page } = opened;
  await page.locator('#filter').fill('mmap, MEM');
  assert.deepEqual((await methods(page)).toSorted(), ['memory', 'mmap']);
  assert.equal(await page.locator('#ecdf .scatterlayer .trace').count(), 2);
  await page.locator('#filter').fill('no such method');
  assert.deepEqual(await methods(page), []);
  await page.locator('#filter').fill('');
  assert.equal((await methods(page)).length, 5);
  await done(opened);
});

test('metric, axis, legend and colours can be switched', async () => {
  const opened = await open(reports.one);
  const { page } = opened;
  const axis = id => page.$eval(`#${id}`, div => [div.layout.xaxis.type, div.layout.xaxis.title.text]);
  await page.locator('#log').setChecked(true);
  assert.equal((await axis('ecdf'))[0], 'log');
  await page.locator('#log').setChecked(false);
  assert.equal((await axis('ecdf'))[0], 'linear');
  assert.match((await axis('ecdf'))[1], /^wall time \[(ns|µs|ms)\]$/);
  await page.locator('#metric').selectOption('cpu_ns');
  assert.match((await axis('box'))[1], /^CPU time/);
  const lines = await page.locator('#ecdf .scatterlayer .trace').count();
  const button = page.locator('#legend button').first();
  await button.click();
  assert.equal(await button.getAttribute('aria-pressed'), 'false');
  assert.equal(await page.locator('#ecdf .scatterlayer .trace').count(), lines - 1);
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await back();
  await page.locator('#theme').click();
  assert.notEqual(await back(), light);
  await done(opened);
});

test('a sweep has a panel for each value of the other param', async () => {
  const opened = await open(reports.sweep);
  const { page } = opened;
  for (const [chart, place] of await page.$$eval('.chart', divs => divs.map(div => [Number(div.querySelector('.main-svg').getAttribute('width')), div.clientWidth]))) assert.equal(chart, place, 'a chart is as wide as its place');
  await page.locator('#sweep').selectOption({ label: 'buffer' });
  assert.equal(await page.locator('#panels .chart').count(), 2);
  const first = () => page.$eval('#panels .chart', div => ({ x: div.layout.xaxis.type, y: div.layout.yaxis.type, kinds: [...new Set(div.data.map(trace => trace.type))], title: div.layout.title.text }));
  assert.deepEqual(await first(), { x: 'log', y: 'log', kinds: ['scatter'], title: 'parallel=1' });
  await page.locator('#sweep-log-x').setChecked(false);
  await page.locator('#sweep-log-y').setChecked(false);
  await page.locator('#sweep-kind').selectOption('boxes');
  assert.deepEqual(await first(), { x: 'linear', y: 'linear', kinds: ['box'], title: 'parallel=1' });
  await page.locator('#sweep-log-x').setChecked(true);
  assert.ok(await page.locator('#panels .boxlayer .box').count() >= 12);
  await page.locator('#sweep-legend button').first().click();
  assert.equal(await page.$eval('#panels .chart', div => div.data.length), 1);
  await picture(page, 'sweep');
  await done(opened);
});

test('runs are laid over each other, and what differs is said', async () => {
  const opened = await open(reports.two, { colorScheme: 'dark' });
  const { page } = opened;
  const traces = await page.$eval('#ecdf', div => div.data.map(trace => [trace.name, trace.line.color, trace.line.dash]));
  const of = method => traces.filter(([name]) => name.startsWith(`${method} `));
  assert.equal(of('mmap').length, 2);
  assert.equal(of('mmap')[0][1], of('mmap')[1][1], 'a method keeps its colour');
  assert.equal(of('mmap')[0][1], '#009e73', 'that of the files of report --svg, in the dark, too');
  assert.notEqual(of('mmap')[0][2], of('mmap')[1][2], 'a run has its dashes');
  assert.ok((await page.locator('#results thead').textContent()).includes('run'));
  assert.ok((await page.locator('#box').textContent()).includes(HOSTILE), 'the chart shows the label as it is');
  await picture(page, 'dark');
  await done(opened);
});

test('a phone shows all of it without scrolling sideways, and paper takes it', async () => {
  const opened = await open(reports.one, { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2 });
  const { page } = opened;
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  const heads = await page.locator('#results thead th').allTextContents();
  assert.deepEqual(heads.slice(0, 3), ['method', 'ratio', 'verdict']);
  const verdict = await page.locator('#results thead th').nth(2).boundingBox();
  assert.ok(verdict.x + verdict.width <= 360, 'the verdict is in sight');
  const isCut = () => page.$eval('.scroll:has(#results)', scroll => scroll.classList.contains('cut'));
  assert.ok(await isCut(), 'more columns are announced');
  await page.$eval('.scroll:has(#results)', scroll => { scroll.scrollLeft = scroll.scrollWidth; });
  await page.waitForFunction(() => !document.querySelector('.scroll:has(#results)').classList.contains('cut'));
  await picture(page, 'phone');
  const paper = await page.pdf({ format: 'A4' });
  assert.ok(paper.length > 10_000);
  await done(opened);
});

// The texts at the axes, above the panels and beside the rows that reach out of their chart.
const cut = page => page.$$eval('.chart .main-svg', pictures => pictures.flatMap(picture => {
  const chart = picture.closest('.chart').getBoundingClientRect();
  const texts = [...picture.querySelectorAll('.xtitle, .ytitle, .gtitle, .annotation-text')];
  return texts.filter(text => text.textContent).filter(text => {
    const { left, right, top, bottom } = text.getBoundingClientRect();
    return left < chart.left - 1 || right > chart.right + 1 || top < chart.top - 1 || bottom > chart.bottom + 1;
  }).map(text => text.textContent);
}));

for (const width of [390, 800, 1280]) {
  test(`titles are whole at ${width} pixels`, async () => {
    for (const name of ['one', 'sweep', 'bench']) {
      const opened = await open(reports[name], { viewport: { width, height: 900 } });
      const { page } = opened;
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
      for (const metric of await page.$$eval('#metric option', options => options.map(option => option.value))) {
        await page.locator('#metric').selectOption(metric);
        assert.deepEqual(await cut(page), [], `${name}: ${metric}`);
      }
      await picture(page, `${name}-${width}`);
      await page.emulateMedia({ colorScheme: 'dark' });
      await picture(page, `${name}-${width}-dark`);
      await done(opened);
    }
  });
}

test('a page that is made narrower has whole titles, too', async () => {
  const opened = await open(reports.bench);
  const { page } = opened;
  await page.setViewportSize({ width: 390, height: 900 });
  await page.waitForFunction(() => document.getElementById('ratio').layout.yaxis.ticktext.every(text => text.includes('<br>')));
  assert.deepEqual(await cut(page), []);
  await done(opened);
});

test('a printed bench has three pages at most, and what is unfolded is on it', async () => {
  const opened = await open(reports.bench);
  const { page } = opened;
  const pages = async () => {
    const paper = await page.pdf({ format: 'A4', path: process.env.SCREENSHOTS && join(process.env.SCREENSHOTS, 'bench.pdf') });
    return paper.toString('latin1').match(/\/Type\s*\/Page\b(?!s)/g).length;
  };
  const folded = await pages();
  assert.ok(folded <= 3, `${folded} pages`);
  await page.$$eval('details', all => all.forEach(details => { details.open = true; }));
  assert.ok(await pages() > folded);
  assert.equal(await page.locator('details:not([open])').count(), 0, 'what was unfolded stays so');
  await done(opened);
});

test('the tables need no script', async () => {
  const page = await browser.newPage({ javaScriptEnabled: false });
  await page.goto(new URL(`file://${reports.one.split('/').map(encodeURIComponent).join('/')}`).href);
  assert.equal((await methods(page)).length, 5);
  assert.ok(await page.getByText('The charts need JavaScript').isVisible());
  await page.close();
});

test('the page of a study shows its figures, its table and its claims without a script', async () => {
  const file = join(dir, 'study.html');
  bytelab('run', 'published:fleece', '--people', '50', '--rounds', '6', '--counting', '0', '--report', file);
  const page = await browser.newPage({ javaScriptEnabled: false, viewport: { width: 1200, height: 900 } });
  const requests = [];
  page.on('request', request => { if (!request.isNavigationRequest()) requests.push(request.url()); });
  await page.goto(new URL(`file://${file}`).href);
  assert.deepEqual(requests, []);
  for (const figure of await page.locator('figure svg').all()) {
    const { width, height } = await figure.boundingBox();
    assert.ok(width > 300 && height > 60, `${width} x ${height}`);
    assert.ok(await figure.locator('rect').count() > 3);
  }
  assert.equal(await page.locator('figure svg').count(), 2);
  assert.ok(await page.getByText('Parse trusted (µs)', { exact: true }).first().isVisible());
  assert.ok(await page.getByText('confirmed', { exact: true }).first().isVisible());
  await picture(page, 'study');
  await page.setViewportSize({ width: 360, height: 740 });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  await page.close();
});

test('bytelab serve: a run is found, opened and compared, and names cannot do anything', async () => {
  const env = { ...process.env, BYTELAB_STORE: join(dir, 'runs.sqlite') };
  const server = spawn(program, ['serve', '--listen', '127.0.0.1:0'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [line] = await once(server.stdout.setEncoding('utf8'), 'data');
    const page = await browser.newPage();
    const troubles = [];
    page.on('console', message => troubles.push(`console: ${message.text()}`));
    page.on('pageerror', error => troubles.push(`error: ${error.stack}`));
    page.on('dialog', dialog => { troubles.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    const drawn = () => page.waitForFunction(() => document.documentElement.dataset.drawn, null, { timeout: 120_000 });
    await page.goto(line.trim());
    assert.ok((await page.locator('#runs').textContent()).includes(HOSTILE));
    await picture(page, 'served');
    await page.getByLabel('Label').fill(HOSTILE);
    await page.getByRole('button', { name: 'Filter' }).click();
    assert.equal(await page.locator('#runs tbody tr').count(), 1);
    assert.equal(await page.getByLabel('Label').inputValue(), HOSTILE);
    await page.locator('#runs tbody th a').click();
    await drawn();
    assert.ok(await page.locator('#ratio .main-svg').count() > 0);
    await page.goto(line.trim());
    for (const run of ['1', '2']) await page.getByLabel(`compare run ${run}`, { exact: true }).check();
    await page.getByRole('button', { name: 'Compare the chosen runs' }).click();
    await drawn();
    assert.ok((await page.locator('.answer').first().textContent()).length > 20);
    await page.goto(line.trim());
    await page.getByLabel('Method').fill('mmap');
    await page.getByRole('button', { name: 'Show' }).click();
    assert.ok((await page.locator('pre').textContent()).includes('mmap, p50 of wall_ns'));
    await page.goto(line.trim());
    await page.setViewportSize({ width: 360, height: 740 });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
    assert.deepEqual(troubles, []);
    await page.close();
  } finally {
    server.kill('SIGTERM');
    assert.equal((await once(server, 'exit'))[0], 143);
  }
});

test('the SVG files can be shown', async () => {
  const files = readdirSync(join(dir, 'svg'));
  assert.ok(files.includes('box-by-buffer.svg') && files.includes('line-by-buffer.svg'), files.join());
  const page = await browser.newPage();
  for (const file of files) {
    await page.setContent(`<img alt="" src="data:image/svg+xml;base64,${readFileSync(join(dir, 'svg', file)).toString('base64')}">`);
    assert.ok(await page.$eval('img', async img => { await img.decode(); return img.naturalWidth > 300; }), file);
  }
  await page.close();
});

// Both times are from the start of the navigation to the end of the frame that shows the charts: those in the
// window of 1200 × 900 at opening, and all of the page.
const OPENINGS = Number(process.env.OPENINGS ?? 11);
test('a million samples', { skip: !process.env.MILLION_REPORT && 'MILLION_REPORT is not set' }, async () => {
  assert.ok(statSync(process.env.MILLION_REPORT).size <= 8_000_000);
  const times = { seen: [], drawn: [] };
  for (let opening = 0; opening < OPENINGS; opening += 1) {
    const opened = await open(process.env.MILLION_REPORT);
    for (const [name, ms] of Object.entries(times)) ms.push(Number(await opened.page.evaluate(name => document.documentElement.dataset[name], name)));
    await done(opened);
  }
  const shown = ms => { ms.sort((a, b) => a - b); return `${ms[(OPENINGS - 1) / 2]} ms (${ms[0]}–${ms.at(-1)})`; };
  console.log(`${statSync(process.env.MILLION_REPORT).size} bytes; of ${OPENINGS} openings the median (least–greatest): charts in sight ${shown(times.seen)}, all charts ${shown(times.drawn)}`);
});
