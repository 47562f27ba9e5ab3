// Long lists: single allocations by the wheel, by keyboard, sorted; of the one that is selected all
// that is known.
export default async function ({ page, open, settled, picture, accessible, check, args }) {
	const [stream] = args;
	const grid = page.getByRole('grid');
	const drawn = () => page.locator('main [role=row][aria-rowindex]').count();
	const loaded = () => page.waitForFunction(() => !document.querySelector('.vt-wait'));
	const row = (n) => page.locator(`main [role=row][aria-rowindex="${n + 1}"]`);

	await open(`#/${stream}/allocations?value=allocated`);
	const total = Number(await grid.getAttribute('aria-rowcount')) - 1;
	check('there are many', total > 1000, total);
	check('of which few are in the document', (await drawn()) < 120, await drawn());
	await row(1).click();
	await settled();
	check('a row is selected', /block=0/.test(page.url()), page.url());
	check(
		'its block is shown',
		(await page.getByRole('region', { name: 'Block 0' }).count()) === 1,
	);
	await accessible('an allocation');
	await picture('allocation');

	await page.getByRole('button', { name: /Close/ }).click();
	await grid.focus();
	await page.keyboard.press('End');
	await loaded();
	await settled();
	check(
		'End goes to the last',
		new RegExp(`block=${total - 1}(&|$)`).test(page.url()),
		page.url(),
	);
	check('and shows it', (await row(total).count()) === 1);
	await page.keyboard.press('ArrowUp');
	await settled();
	check('arrows go on', new RegExp(`block=${total - 2}(&|$)`).test(page.url()), page.url());
	await page.keyboard.press('Home');
	await settled();
	check('Home goes to the first', /block=0(&|$)/.test(page.url()), page.url());

	await page.getByRole('button', { name: 'Size' }).click();
	await settled();
	check('the order is in the address', /sort=size&order=dsc/.test(page.url()), page.url());
	check(
		'and in the head',
		(await page.getByRole('columnheader', { name: 'Size' }).getAttribute('aria-sort')) ===
			'descending',
	);
	await page.getByRole('button', { name: 'Size' }).click();
	await settled();
	check('again turns it round', /order=asc/.test(page.url()), page.url());

	await grid.hover();
	await page.mouse.wheel(0, 4000);
	await page
		.waitForFunction(
			() => Number(document.querySelectorAll('main .vt-row')[1].ariaRowIndex) > 50,
			null,
			{ timeout: 5000 },
		)
		.catch(() => check('the wheel scrolls', false));
	await loaded();

	for (const view of [
		'sites?by=backtrace',
		'sites?value=allocated',
		'leaks',
		'temporary',
		'temporary?by=freed',
	]) {
		await open(`#/${stream}/${view}`);
		await accessible(view);
	}
}
