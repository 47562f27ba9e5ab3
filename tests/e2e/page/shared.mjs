// Recordings of all collectors: where each is, a search among them, the comparison of all boards.
export default async function ({ page, open, settled, picture, accessible, check, args }) {
	const [host] = args;
	const main = page.locator('main');

	await open('#/');
	await settled();
	check('three are here', (await page.locator('.recordings .vt-row').count()) === 3);
	await page.getByText('All collectors').click();
	await settled();
	const rows = page.locator('main tbody tr');
	await rows.first().waitFor({ timeout: 30000 });
	check('all twenty are listed', (await rows.count()) === 20, await rows.count());
	const texts = (await rows.allInnerTexts()).map((t) => t.trim());
	check('three of them are here', texts.filter((t) => /here$/.test(t)).length === 3, texts);
	check('the others are at their collector', texts.filter((t) => t.endsWith(host)).length === 17);
	await accessible('shared');
	await picture('shared');

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
