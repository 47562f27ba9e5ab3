// Recordings of all collectors: where each is, a search among them, the comparison of all boards.
export default async function ({ page, open, settled, picture, accessible, check, args }) {
	const [host] = args;
	const main = page.locator('main');

	await open('#/');
	await settled();
	const own = page.locator('.recordings .vt-row');
	check('three are here, and a part of a fourth', (await own.count()) === 4);
	const moved = own.getByRole('link', { name: host });
	await moved.waitFor({ timeout: 30000 });
	check(
		'the list says where the fourth went',
		/^http:..127.0.0.1:18086.#.[0-9a-f]{12}.overview$/.test(await moved.getAttribute('href')),
	);
	await picture('shared-moved');
	await page.getByText('All collectors').click();
	await settled();
	const rows = page.locator('main tbody tr');
	await rows.first().waitFor({ timeout: 30000 });
	check('all are listed', (await rows.count()) === 21, await rows.count());
	const texts = (await rows.allInnerTexts()).map((t) => t.trim());
	check('three of them are here', texts.filter((t) => /here$/.test(t)).length === 3, texts);
	check('the others are at their collector', texts.filter((t) => t.endsWith(host)).length === 18);
	await accessible('shared');
	const links = page.locator(`main tbody td:last-child a[href^="http://127.0.0.1:18086/#/"]`);
	check('and are linked', (await links.count()) === 18, await links.count());
	for (const [width, height] of [
		[1280, 800],
		[360, 800],
	])
		for (const colorScheme of ['light', 'dark']) {
			await page.setViewportSize({ width, height });
			await page.emulateMedia({ colorScheme });
			await settled();
			const wide = await page.evaluate(
				() => document.documentElement.scrollWidth > innerWidth,
			);
			check(`nothing is beside the page, ${width} wide, ${colorScheme}`, !wide);
			await picture(`shared-${width}-${colorScheme}`);
		}
	await page.setViewportSize({ width: 1280, height: 800 });
	await page.emulateMedia({ colorScheme: 'light' });

	await open('#/?show=everywhere&q=host%3Dgw-00*');
	await settled();
	check('a search chooses', (await rows.count()) === 10, await rows.count());
	await open('#/?show=everywhere&q=nobody');
	await settled();
	check('and says that it found none', /Nothing matches/.test(await main.innerText()));

	await open('#/?show=differences');
	const first = page.locator('.finding').first();
	await first.waitFor({ timeout: 30000 });
	const said = (await first.innerText()).replace(/\s+/g, ' ');
	check('all boards are compared', /on 10 of 20 boards/.test(said), said);
}
