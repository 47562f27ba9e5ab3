// Two builds of a program are picked in the fleet; what the later one has more stands first.
export default async function ({ page, open, settled, picture, accessible, check, args }) {
	const [before, after] = args;
	const pick = (id) =>
		page
			.locator('.vt-row', { has: page.locator(`a[href*="${id.slice(0, 12)}"]`) })
			.getByRole('checkbox');

	await open('#/');
	await pick(before).check();
	check('one is not enough', (await page.getByText('Pick a second one').count()) === 1);
	await pick(after).check();
	await page.getByRole('link', { name: 'Compare the two' }).click();
	await settled();
	check('red has grown', /red has grown/.test(await page.locator('.tools').innerText()));
	const row = await page.locator('.functions .vt-row').first().innerText();
	check('the regression is the first function', /load_index/.test(row), row);
	await picture('diff-flame');
	await page.getByRole('link', { name: 'Differences' }).click();
	await settled();
	const first = await page.locator('main .vt-row').first().innerText();
	check(
		'the regression is the first call site',
		/load_index/.test(first) && /\+3\.00 MiB/.test(first),
		first,
	);
	check('no row is selected', (await page.locator('main [aria-selected=true]').count()) === 0);
	await accessible('differences');
	await picture('diff');
}
