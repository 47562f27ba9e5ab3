// Names from outside are text and nothing else, wherever they are shown.
export default async function ({ page, open, settled, check, args }) {
	const [stream, mark] = args;
	let shown = 0;

	await page.addInitScript(() => {
		window.alert = () => (window.ranMarkup = true);
	});
	await open('#/');
	check('the fleet shows the name', (await page.locator('main').innerText()).includes(mark));
	await open(`#/${stream}/overview`);
	for (const href of await page
		.locator('.views a')
		.evaluateAll((links) => links.map((a) => a.getAttribute('href')))) {
		await open(href);
		shown += (await page.locator('body').innerText()).includes(mark) ? 1 : 0;
		check(
			`${href}: nothing of it is an element`,
			(await page.locator('img[src="x"]').count()) === 0,
		);
	}
	check('it is shown', shown > 0);
	await open(
		`#/${stream}/flame?find=${encodeURIComponent(mark)}&site=` +
			`${encodeURIComponent(`${mark}@${mark}@${mark}`)}`,
	);
	await settled();
	check('nor what the address brings', (await page.locator('img[src="x"]').count()) === 0);
	check('no script of it ran', !(await page.evaluate(() => window.ranMarkup)));
}
