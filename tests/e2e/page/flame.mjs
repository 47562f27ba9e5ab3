// The flame graph to its end: callers and callees of one function, a window of time that is moved,
// a search by keys, and pictures to take along.
import { readFileSync } from 'node:fs';

export default async function ({ page, open, settled, picture, accessible, check, args }) {
	const [stream, name] = args;
	const status = () => page.locator('.tools [role=status]').innerText();
	const params = () => new URL(page.url().replace('#/', '')).searchParams;

	// ---- callers above, callees below ----
	await open(`#/${stream}/flame?value=allocated`);
	await page.getByRole('searchbox', { name: 'Search the flame graph' }).fill(name);
	await settled();
	await page.keyboard.press('Enter');
	await settled();
	check(
		'Enter goes to the first that matches',
		/, 1 of \d+ frames?/.test(await status()),
		await status(),
	);
	check('and selects it', params().get('site')?.startsWith(name), page.url());
	await page.locator('.flame canvas').first().focus();
	await page.keyboard.press('f');
	await settled();
	check('F looks at the function', params().get('focus')?.startsWith(`${name}@`), page.url());
	check('its callers are above', (await page.getByLabel(/^Callers\. /).count()) === 1);
	check('its callees below', (await page.getByLabel(/^Callees\. /).count()) === 1);
	check(
		'its share is said',
		new RegExp(`${name}.* % of all`).test(await page.locator('.focused').innerText()),
		await page.locator('.focused').innerText(),
	);
	await accessible('callers and callees');
	await picture('sandwich');
	const said = await page.locator('.focused').innerText();
	const total = await page
		.locator('.functions .vt-row', { hasText: name })
		.first()
		.locator('[data-column=total]')
		.innerText();
	check('its total is that of the table', said.includes(total), `${said} / ${total}`);
	const address = page.url();
	await open('#/');
	await page.goto(address);
	await settled();
	check('the address has it', (await page.locator('.focused').innerText()) === said);
	await page.keyboard.press('Escape');
	await settled();
	check('Escape leaves it', !params().has('focus'), page.url());
	await page
		.locator('.functions .vt-row', { hasText: name })
		.first()
		.getByRole('button', { name: /Callers and callees/ })
		.click();
	await settled();
	check('the table leads to it', params().get('focus')?.startsWith(`${name}@`), page.url());
	await page
		.getByRole('button', { name: /Show all/ })
		.first()
		.click();
	await settled();
	await page.getByRole('link', { name: 'Its callers and callees' }).click();
	await settled();
	check('the inspector, too', params().get('focus')?.startsWith(`${name}@`), page.url());
	await page.keyboard.press('Escape');
	await settled();
	await page
		.locator('.flame canvas')
		.first()
		.click({ button: 'right', position: { x: 100, y: 60 } });
	await page.getByRole('button', { name: /Callers above/ }).click();
	await settled();
	check('and the right button', params().has('focus'), page.url());
	await page.keyboard.press('Escape');
	await page.keyboard.press('Control+f');
	check(
		'Ctrl-F is the search',
		await page.evaluate(() => document.activeElement?.matches('input[type=search]')),
	);

	// ---- a window of time ----
	await open(`#/${stream}/flame?value=allocated`);
	const all = await status();
	const plot = await page.locator('.strip .u-over').boundingBox();
	const at = (part) => [plot.x + plot.width * part, plot.y + 40];
	await page.mouse.move(...at(0.2));
	await page.mouse.down();
	await page.mouse.move(...at(0.4), { steps: 4 });
	await page.waitForTimeout(300);
	const half = await status();
	check(
		'the graph follows before the button is let go',
		half !== all && params().has('from'),
		half,
	);
	await page.mouse.up();
	await settled();
	const [from, to] = ['from', 'to'].map((p) => parseFloat(params().get(p)));
	await page.mouse.move(...at(0.3));
	await page.mouse.down();
	await page.mouse.move(...at(0.5), { steps: 6 });
	await page.mouse.up();
	await settled();
	const [from2, to2] = ['from', 'to'].map((p) => parseFloat(params().get(p)));
	check(
		'a window is moved by its middle',
		from2 > from && Math.abs(to2 - from2 - (to - from)) < (to - from) / 50,
		`${from}-${to} ${from2}-${to2}`,
	);
	await page.getByRole('application', { name: /^Time\./ }).focus();
	await page.keyboard.press('Shift+ArrowRight');
	await page.keyboard.press('Shift+ArrowRight');
	await page.waitForTimeout(400);
	await settled();
	check('and by Shift and arrows', parseFloat(params().get('from')) > from2, page.url());
	await accessible('a window');
	await page.goBack();
	await settled();
	check(
		'back goes to the window before',
		parseFloat(params().get('from')) < from2 + 1e-6,
		page.url(),
	);
	await page.getByRole('application', { name: /^Time\./ }).focus();
	await page.keyboard.press('Escape');
	await settled();
	check('Escape removes it', !params().has('from'), page.url());

	// ---- pictures ----
	const take = async (what) => {
		await page.getByRole('button', { name: 'Export' }).click();
		const [download] = await Promise.all([
			page.waitForEvent('download'),
			page.getByText(what).click(),
		]);
		return readFileSync(await download.path());
	};
	for (const [view, text] of [
		['flame', '_start'],
		['bands', 'KiB'],
		['overview', 'Allocation rate'],
		['space', '0x'],
	]) {
		await open(`#/${stream}/${view}?value=allocated&size_min=2`);
		const svg = (await take('Picture (SVG)')).toString();
		const wrong = await page.evaluate(
			(s) =>
				new DOMParser().parseFromString(s, 'image/svg+xml').querySelector('parsererror')
					?.textContent,
			svg,
		);
		check(`${view}: the SVG is well-formed`, !wrong, wrong);
		check(
			`${view}: it says what it is`,
			svg.includes(text) && svg.includes('pid ') && /2 B/.test(svg),
			svg.slice(0, 600),
		);
		const png = await take('Picture (PNG)');
		check(
			`${view}: the PNG is one`,
			png.subarray(1, 4).toString() === 'PNG' && png.length > 3000,
			png.length,
		);
	}
	await open(`#/${stream}/flame?value=allocated`);
	const html = (await take('Flame graph (HTML, one file)')).toString();
	check('and a file of HTML', html.startsWith('<!doctype html>') && html.includes(name));
	await open(`#/${stream}/account`);
	await page.getByRole('button', { name: 'Export' }).click();
	check(
		'what is no picture says so',
		(await page.getByText('This view is no picture.').count()) === 1,
	);
}
