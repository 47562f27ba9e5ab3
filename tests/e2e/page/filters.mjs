// Somebody who does not know what can be asked finds out: opens the panel, searches it, mistypes,
// is told so, and filters; a bar of the histogram filters, too.
export default async function ({ page, open, settled, picture, accessible, check, allow, args }) {
	const [stream] = args;
	const panel = page.getByRole('dialog', { name: 'Filters' });
	const chips = () => page.locator('.chip').allInnerTexts();

	allow(/count=0/);
	await open(`#/${stream}/sites?value=allocated`);
	await page.getByRole('button', { name: '+ Filter' }).click();
	await panel.waitFor();
	await panel.getByRole('textbox', { name: 'Size, at least', exact: true }).waitFor();
	check(
		'all kinds of filters are there',
		(await panel.locator('.filter-groups button').count()) > 7,
	);
	check(
		'each says what it matches',
		(await panel.locator('.filter-end').count()) ===
			(await panel.locator('.filter-end p').count()),
	);
	await accessible('the filters');
	await picture('filters');

	await panel.getByRole('searchbox').fill('realloc');
	check(
		'a search finds by what is said',
		(await panel.getByRole('textbox', { name: 'Blocks of the chain, at least' }).count()) === 1,
	);
	check(
		'and leaves out others',
		(await panel.getByRole('textbox', { name: 'Thread', exact: true }).count()) === 0,
	);
	await panel.getByRole('searchbox').fill('');

	const size = panel.getByRole('textbox', { name: 'Size, at least', exact: true });
	await size.fill('1 Kx');
	await size.press('Enter');
	await panel.locator('[aria-invalid=true]').waitFor();
	check(
		'what is not understood is said at its field',
		/takes a size/.test(await panel.getByRole('alert').innerText()),
	);
	check('and not applied', !/size_min/.test(page.url()), page.url());
	await size.fill('1K');
	await panel.getByText(/allocations match$/).waitFor();
	await size.press('Enter');
	await panel.waitFor({ state: 'detached' });
	await settled();
	check('Enter applies', /size_min=1K/.test(page.url()), page.url());
	check(
		'a chip says it',
		(await chips()).some((t) => t.includes('size ≥ 1 KiB')),
		await chips(),
	);

	await page.getByRole('button', { name: 'size ≥ 1 KiB', exact: true }).click();
	await page.waitForFunction(() => document.activeElement?.id === 'filter-size_min');
	await page.keyboard.press('Escape');
	check('Escape closes', (await panel.count()) === 0);
	check(
		'and the focus is back',
		(await page.evaluate(() => document.activeElement?.textContent)) === '+ Filter',
	);
	await page.getByRole('button', { name: 'Remove the filter: size ≥ 1 KiB' }).click();
	await settled();
	check('a chip takes it away', !/size_min/.test(page.url()), page.url());

	await open(`#/${stream}/histogram?value=allocated`);
	const bar = page.getByRole('group', { name: 'Size of blocks' }).getByRole('button').nth(1);
	await bar.focus();
	await page.keyboard.press('Enter');
	await settled();
	check('a bar is a filter', /size_min=\d+&size_max=\d+/.test(page.url()), page.url());
	check(
		'and stays among the others',
		(await page.getByRole('group', { name: 'Size of blocks' }).getByRole('button').count()) > 2,
	);
	await picture('histogram');
	await accessible('the histogram');
}
