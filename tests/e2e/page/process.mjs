// Somebody looks at the memory of the process: maps and who made them, pages and what lies on them,
// figures over time, lines of the sources.
export default async function ({ page, open, settled, picture, accessible, check, allow, args }) {
	const [stream, token] = args;

	await open(`#/${stream}/maps`);
	const rows = page.locator('main .vt-row');
	check('there are maps', (await rows.count()) > 5, await rows.count());
	await page.getByRole('searchbox', { name: 'Search the maps' }).fill('[heap]');
	await settled();
	check('the heap is among them', (await rows.count()) >= 1);
	await rows.first().click();
	await settled();
	check('a map is in the address', /map=\d+/.test(page.url()), page.url());
	check('its regions are shown', (await page.locator('.map-detail table tbody tr').count()) >= 1);
	await accessible('a map');
	await picture('map');

	await open(`#/${stream}/space`);
	const pages = page.locator('.pages canvas').first();
	await pages.waitFor();
	check('figures are in words', /full/.test(await page.locator('.space-top').innerText()));
	await pages.focus();
	await page.keyboard.press('ArrowRight');
	await settled();
	check(
		'a page is selected by keyboard',
		/spot=[0-9a-f]+-[0-9a-f]+/.test(page.url()),
		page.url(),
	);
	await page.locator('.spot tbody tr').first().waitFor();
	check('and its blocks are listed', (await page.locator('.spot tbody tr').count()) >= 1);
	await accessible('the address space');
	const one = await page.locator('.space .tools [role=status]').innerText();
	await page.getByRole('button', { name: 'More pages a square' }).click();
	check(
		'squares can be larger',
		(await page.locator('.space .tools [role=status]').innerText()) !== one,
	);
	await picture('space');

	await open(`#/${stream}/figures`);
	check(
		'figures are drawn',
		(await page.locator('.figures .u-over').count()) >= 3,
		await page.locator('.figures .u-over').count(),
	);
	await accessible('figures');

	allow(/\/source\?/);
	const file = `#/${stream}/source?value=allocated`;
	await open(file);
	await page.getByRole('link', { name: 'holes.c' }).click();
	await settled();
	check(
		'without the token there are lines, but no text',
		/token/.test(await page.locator('.missing').innerText()) && (await rows.count()) >= 3,
	);
	check(
		'the path can be copied',
		(await page.getByRole('button', { name: 'Copy path' }).count()) === 1,
	);
	await accessible('a source file without its text');

	await page.goto('about:blank');
	await open(`#token=${token}`);
	await open(file);
	await page.getByRole('link', { name: 'holes.c' }).click();
	await page.locator('.source-text').waitFor();
	await settled();
	check(
		'with it the text is shown',
		/malloc/.test(await page.locator('.source-text .vt-row.heavy').first().innerText()),
		await page.locator('.source-text .vt-row.heavy').first().innerText(),
	);
	await page.locator('.source-text .vt-row.heavy').first().click();
	await settled();
	check('a line is in the address', /line=\d+/.test(page.url()), page.url());
	await accessible('a source file');
	await picture('source');
}
