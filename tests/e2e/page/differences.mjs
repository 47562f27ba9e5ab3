// What stands out between boards is the first thing that is seen; a board's name leads to its
// recordings; a search chooses who is compared.
export default async function ({ page, open, settled, picture, accessible, check, args }) {
	const [plant] = args;
	const main = page.locator('main');

	await open('#/');
	await page.getByText('Differences').click();
	await settled();
	const first = page.locator('.finding').first();
	await first.waitFor({ timeout: 30000 });
	const said = (await first.innerText()).replace(/\s+/g, ' ');
	if (plant === 'board') {
		check('the leak is first', /^Leak: parse_header \+2\d\d KiB, since/.test(said), said);
		check('and its board', /on 1 of 40 boards: gw-013/.test(said), said);
	} else {
		check('the build is first', /^Growth in build b2b2b2b2: cache_put/.test(said), said);
		check('and its boards', /on 20 of 40 boards: .* and 12 more/.test(said), said);
		check('and the build before', /Boards with build a1a1a1a1 before/.test(said), said);
	}
	check('there is one finding', (await page.locator('.finding').count()) === 1);
	check('the functions follow', (await page.locator('.differences tbody tr').count()) === 16);
	await accessible('differences');
	await picture(`differences-${plant}`);

	if (plant === 'build') {
		await page.getByRole('button', { name: 'and 12 more' }).click();
		check('all boards are named', (await first.locator('a').count()) === 20);
	}
	await page.getByText('At the same age').click();
	await settled();
	check('by age', /after the start/.test(await page.locator('.differences').innerText()));
	await picture(`differences-${plant}-age`);

	await open('#/?show=differences&q=host%3D-none');
	await settled();
	check(
		'nobody is compared with nobody',
		/No boards to compare/.test(await main.innerText()),
		await main.innerText(),
	);
	await open('#/?show=differences');
	await page.locator('.finding a').first().click();
	await settled();
	check(
		'a board leads to its recordings',
		(await page.locator('.recordings .vt-row').count()) === 1,
	);
}
