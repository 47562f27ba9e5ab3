// Plays a story about the page in a real browser: node play.mjs STORY ADDRESS PICTURES
// [ARGUMENT...]
//
// A story is a module beside this one; its default export gets:
//
//	page             a page of playwright at 1280 x 800
//	open(hash)       goes to a view, and waits until nothing is being asked any more
//	settled()        waits for that
//	picture(name)    a screenshot that stays, in PICTURES
//	accessible(what) no serious or critical fault of axe-core in what is shown
//	check(what, ok)  fails the story if not ok
//	address, args, context, browser
//
// It fails, too, if the console shows an error or a warning, if a script fails, if something is
// asked of elsewhere, or if an answer is a fault of the server (status 500 and above).
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const [story, address, pictures, ...args] = process.argv.slice(2);
const axe = readFileSync(
	createRequire(join(process.cwd(), 'x.js')).resolve('axe-core/axe.min.js'),
	'utf8',
);
const faults = [];
let checks = 0;

export function watch(page) {
	page.on(
		'console',
		(m) =>
			(m.type() === 'error' || m.type() === 'warning') &&
			!expected(m.text(), m.location().url) &&
			faults.push(`console: ${m.text()} (${m.location().url})`),
	);
	page.on('pageerror', (e) => faults.push(`script: ${e.stack ?? e.message}`));
	page.on(
		'request',
		(r) =>
			!r.url().startsWith(address) &&
			!r.url().startsWith('data:') &&
			!r.url().startsWith('blob:') &&
			faults.push(`asked of elsewhere: ${r.url()}`),
	);
	page.on('response', (r) => r.status() >= 500 && faults.push(`${r.status()}: ${r.url()}`));
}

/** Answers that say no are shown by the page; the browser's own line about them is no fault. */
let allowed = /^$/;
function expected(text, url) {
	return /Failed to load resource/.test(text) && allowed.test(url);
}

const home = mkdtempSync(join(tmpdir(), 'page-'));
mkdirSync(pictures, { recursive: true });
const browser = await chromium.launch({
	executablePath: '/usr/bin/chromium',
	args: [
		'--no-sandbox',
		'--disable-gpu',
		'--hide-scrollbars',
		'--disable-background-networking',
		'--disable-component-update',
		'--no-first-run',
	],
	env: { ...process.env, HOME: home },
});
const context = await browser.newContext({
	viewport: { width: 1280, height: 800 },
	reducedMotion: 'reduce',
});
const page = await context.newPage();
watch(page);

const settled = async (p = page) => {
	const until = Date.now() + 60000;
	for (let quiet = 0; quiet < 3;) {
		if (Date.now() > until)
			throw new Error(`after a minute an answer is still awaited: ${p.url()}`);
		await p.waitForTimeout(60);
		const busy = await p.evaluate(
			() =>
				document.querySelector('.wait, .stale, .preview') !== null ||
				document.querySelector('#page')?.childElementCount === 0,
		);
		quiet = busy ? 0 : quiet + 1;
	}
};
const tools = {
	page,
	browser,
	context,
	address,
	args,
	watch,
	settled,
	allow: (pattern) => (allowed = pattern),
	open: async (hash) => {
		await page.goto(`${address}/${hash}`);
		await settled();
	},
	picture: (name, p = page) => p.screenshot({ path: join(pictures, `${name}.png`) }),
	accessible: async (what, p = page) => {
		await p.evaluate(axe);
		const { violations } = await p.evaluate(() =>
			window.axe.run(document, { resultTypes: ['violations'] }),
		);
		for (const v of violations)
			if (v.impact === 'serious' || v.impact === 'critical')
				faults.push(
					`${what}: ${v.id}: ${v.help}: ${v.nodes
						.slice(0, 3)
						.map((n) => n.html)
						.join(' ')}`,
				);
	},
	check: (what, ok, said = '') => {
		checks++;
		if (!ok) faults.push(`${what}${said === '' ? '' : `: ${said}`}`);
	},
};

try {
	const play = (await import(new URL(`./${story}.mjs`, import.meta.url))).default;
	await play(tools);
} catch (error) {
	faults.push(error.stack ?? String(error));
	await page.screenshot({ path: join(pictures, `${story}-failed.png`) }).catch(() => {});
}
await browser.close();
rmSync(home, { recursive: true, force: true });
for (const fault of faults) console.error(`FAILED: ${fault}`);
console.log(`${story}: ${checks} checks, ${faults.length} faults`);
process.exit(faults.length ? 1 : 0);
