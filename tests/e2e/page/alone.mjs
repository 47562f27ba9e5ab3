// A flame graph as one file of HTML: opened from the disk, without a collector, it asks nobody for
// anything; names in it are text.
import { pathToFileURL } from 'node:url';

export default async function ({ page, accessible, picture, check, args }) {
	const [file, name, hostile, mark, changed] = args;
	const asked = [];
	const here = pathToFileURL(file).href;
	const ready = async () => {
		await page.locator('.flame canvas').first().waitFor();
		await page.waitForTimeout(150);
	};

	page.on('request', (r) => asked.push(r.url()));
	await page.addInitScript(() => {
		window.alert = () => (window.ranMarkup = true);
	});
	await page.goto(here);
	await ready();
	check('the title is the command', (await page.locator('h1').innerText()).length > 0);
	await page.getByRole('searchbox', { name: 'Search the flame graph' }).fill(name);
	await page.waitForTimeout(100);
	await page.keyboard.press('Enter');
	await page.waitForTimeout(100);
	check(
		'it is searched',
		/% of .* match, 1 of/.test(await page.locator('.tools [role=status]').innerText()),
	);
	await page.locator('.flame canvas').first().focus();
	await page.keyboard.press('Enter');
	await page.waitForTimeout(100);
	check('and zoomed', (await page.getByRole('button', { name: 'Show all' }).count()) === 1);
	await page.keyboard.press('f');
	await page.waitForTimeout(100);
	check('callers and callees are there', (await page.getByLabel(/^Callers\. /).count()) === 1);
	await page.keyboard.press('Escape');
	await page.waitForTimeout(100);
	await page.getByRole('radio', { name: 'From the allocator' }).click();
	await page.getByRole('radio', { name: 'Blocks' }).click();
	await ready();
	check(
		'it is turned round',
		/tree=up/.test(page.url()) && /weight=blocks/.test(page.url()),
		page.url(),
	);
	await accessible('a flame graph as a file');
	for (const [width, height] of [
		[360, 740],
		[1280, 800],
		[2560, 1300],
	])
		for (const colorScheme of ['light', 'dark']) {
			await page.setViewportSize({ width, height });
			await page.emulateMedia({ colorScheme });
			await page.waitForTimeout(80);
			check(
				`it fits ${width} px`,
				await page.evaluate(
					() =>
						document.documentElement.scrollWidth <=
						document.documentElement.clientWidth,
				),
			);
			await picture(`alone-${width}-${colorScheme}`);
		}
	await page.setViewportSize({ width: 1280, height: 800 });

	await page.goto(pathToFileURL(hostile).href);
	await ready();
	// The cell has it without what looks like template arguments; its title has all of it.
	const titles = await page
		.locator('.functions [title]')
		.evaluateAll((cells) => cells.map((cell) => cell.title));
	check('a hostile name is text', titles.includes(mark), titles.join('\n'));
	check(
		'and no element',
		(await page.locator('img').count()) === 0 && (await page.locator('script').count()) === 2,
	);
	check('no script of it ran', !(await page.evaluate(() => window.ranMarkup)));
	await page.goto(pathToFileURL(changed).href);
	await ready();
	check(
		'a difference is one',
		/red has grown/.test(await page.locator('.tools [role=status]').innerText()),
	);
	check(
		'nothing was asked of anybody',
		asked.every((url) => url.startsWith('file:') && url.endsWith('.html')),
		asked.join(' '),
	);
}
