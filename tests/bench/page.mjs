// What tests/bench/page measures: node page.mjs ADDRESS, in a folder with playwright-core. Times are as a person sees them: from the
// click until the page shows what was asked for.
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { chromium } = createRequire(join(process.cwd(), 'x.js'))('playwright-core');
const [address] = process.argv.slice(2);
const ROUNDS = Number(process.env.HEAPCAST_BENCH_ROUNDS ?? 7);
const VIEWS = (process.env.HEAPCAST_BENCH_VIEWS ?? 'overview flame sites histogram bands').split(' ');

const home = mkdtempSync(join(tmpdir(), 'page-bench-'));
const browser = await chromium.launch({
	executablePath: '/usr/bin/chromium',
	args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--no-first-run'],
	env: { ...process.env, HOME: home },
});
const rows = [];
let missed = 0;

const median = (times) => [...times].sort((a, b) => a - b)[times.length >> 1];
function say(what, times, goal, unit = 'ms') {
	const value = median(times);
	const misses = goal !== undefined && value > goal;
	if (misses) missed++;
	rows.push([what, `${value.toFixed(0)} ${unit}`, `${Math.max(...times).toFixed(0)}`, goal === undefined ? '' : `${goal}`, misses ? 'missed' : '']);
	console.log(rows.at(-1).join('\t'));
}

async function open() {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
	// Four frames in a row with nothing awaited (a question begins after the first): what was asked for is there.
	await context.addInitScript(() => {
		window.shown = (wanted) =>
			new Promise((done) => {
				const begun = performance.now();
				let quiet = 0;
				let preview;
				let first;
				const look = () => {
					const canvas = document.querySelector('.strip canvas');
					const busy = document.querySelector('.wait, .stale, .vt-wait, .preview') !== null || (wanted !== 'fleet' && !canvas);
					if (preview === undefined && document.querySelector('.preview')) preview = performance.now() - begun;
					if (first === undefined && canvas && document.querySelector('main table, main canvas, main .vt-row')) first = performance.now();
					quiet = busy ? 0 : quiet + 1;
					if (quiet === 4) done({ took: performance.now() - begun, since: performance.now(), first, preview });
					else requestAnimationFrame(look);
				};
				requestAnimationFrame(look);
			});
		window.turnTo = (hash) => {
			location.hash = hash;
			return new Promise((done) => setTimeout(done)).then(() => window.shown());
		};
	});
	return context.newPage();
}

let page = await open();
const [{ id, runtime }] = await (await fetch(`${address}/list`)).json();
const length = runtime.secs;

// ---- first view, of a browser that has nothing yet ----
for (const view of ['overview', 'flame']) {
	const times = [];
	const firsts = [];
	for (let i = 0; i < ROUNDS; i++) {
		await page.context().close();
		page = await open();
		await page.goto(`${address}/#/${id}/${view}`, { waitUntil: 'commit' });
		const { since, first } = await page.evaluate(() => window.shown());
		times.push(since);
		firsts.push(first ?? since);
	}
	say(`first view: the strip, and the first of ${view}`, firsts, 1000);
	say(`first view: all of ${view}`, times);
}

// ---- kept answers ----
const fetched = (path) =>
	page.evaluate(async (asked) => {
		const begun = performance.now();
		const answer = await fetch(asked, { cache: 'no-store' });
		await answer.text();
		return performance.now() - begun;
	}, path);
async function kept(what, path, goal) {
	await fetched(path(-1));
	const times = [];
	for (let i = 0; i < ROUNDS; i++) times.push(await fetched(path(i)));
	say(what, times, goal);
}
const of = (what) => () => `data/${id}/${what}`;
await kept('timeline, whole', of('timeline?points=1250'), 100);
await kept('timeline, another part each time', (i) => `data/${id}/timeline?points=1250&start=${10 + i * 3}s&end=${length / 2 + i}s`, 100);
await kept('report', of('report'), 200);
await kept('what is in use at the peak, by site', of('peak?count=50'), 200);
await kept('call sites of all', of('allocation_groups?count=50'), 200);
await kept('flame graph of all allocated', of('flame?value=allocated'), 200);
await kept('flame graph of the peak', of('flame?value=peak'), 200);
await kept('histogram', of('histogram'), 200);
await kept('analyze', of('analyze?value=peak'), 200);

// ---- a new range, a moment, a filter ----
async function turn(what, view, set, goal) {
	const times = [];
	const previews = [];
	for (let i = 0; i < ROUNDS; i++) {
		await page.evaluate((hash) => window.turnTo(hash), `#/${id}/${view}`);
		const { took, preview } = await page.evaluate((hash) => window.turnTo(hash), `#/${id}/${view}?${set(i)}`);
		times.push(took);
		previews.push(Math.min(preview ?? Infinity, took));
	}
	say(`${what}: ${view}`, times, goal);
	say(`${what}, first answer or preview: ${view}`, previews, 200);
}
for (const view of VIEWS) {
	await turn('a range', view, (i) => `value=allocated&from=${(20.5 + 7 * i).toFixed(3)}s&to=${(40.25 + 9 * i).toFixed(3)}s`, 1000);
	await turn('a moment', view, (i) => `value=in-use&at=${(31.7 + 11 * i).toFixed(3)}s`, 1000);
	await turn('a filter', view, (i) => `value=allocated&size_min=${65 + 3 * i}`, 1000);
}

// ---- the latest request cancels earlier ones ----
{
	const times = [];
	const left = [];
	for (let i = 0; i < ROUNDS; i++) {
		const part = (k) => `#/${id}/flame?value=allocated&from=${(10.1 + i * 3 + k).toFixed(3)}s&to=${(60.2 + i * 7 + k).toFixed(3)}s`;
		for (let k = 0; k < 5; k++) {
			await page.evaluate((hash) => void (location.hash = hash), part(k));
			await page.waitForTimeout(60);
		}
		const last = page.evaluate((hash) => window.turnTo(hash), part(5));
		await page.waitForTimeout(150);
		const questions = await (await fetch(`${address}/questions`)).json();
		left.push(questions.filter((q) => !q.cancelled && q.path.endsWith('/flame')).length);
		times.push((await last).took);
	}
	say('six ranges, 60 ms apart: the last one', times, 1000);
	say('questions for flame graphs at work 150 ms later', left, 1, '');
}

// ---- size ----
const { first } = await page.evaluate(() => ({ first: performance.getEntriesByType('resource').filter((r) => /\/page\//.test(r.name)).reduce((sum, r) => sum + r.encodedBodySize, 0) }));
say('size of the page, compressed', [first / 1024], 150, 'KiB');

await browser.close();
rmSync(home, { recursive: true, force: true });
console.log(`${missed} of ${rows.filter((r) => r[3]).length} goals were missed`);
