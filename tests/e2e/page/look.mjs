// Somebody looks at where a program's memory goes: chooses a range, reads the top site, opens its
// stack; shares the address.
export default async function ({
	page,
	context,
	open,
	settled,
	picture,
	accessible,
	check,
	watch,
	address,
	args,
}) {
	const [stream, site] = args;

	await open('#/');
	await page
		.getByRole('link', { name: /sqlite3|python3|e2e/ })
		.first()
		.waitFor();
	check(
		'the fleet has the recording',
		(await page.locator(`a[href*="${stream.slice(0, 12)}"]`).count()) > 0,
	);
	await accessible('the fleet');
	await picture('fleet');

	await page
		.locator(`a[href*="${stream.slice(0, 12)}"]`)
		.first()
		.click();
	await settled();
	check('it opens with the overview', /overview/.test(page.url()), page.url());
	check('and its sums', (await page.getByRole('rowheader', { name: 'Allocated' }).count()) === 1);
	await accessible('the overview');

	await page.getByRole('link', { name: 'Call sites' }).click();
	await settled();
	const first = page.locator('main').getByRole('row').nth(1);
	check(
		"the top site is the program's",
		(await first.innerText()).includes(site),
		await first.innerText(),
	);
	await first.click();
	await settled();
	check('its stack is shown', (await page.locator('.stack li').count()) > 3);
	await accessible('call sites');

	// A range of the strip.
	const plot = await page.locator('.strip .u-over').boundingBox();
	await page.mouse.move(plot.x + plot.width * 0.2, plot.y + 40);
	await page.mouse.down();
	await page.mouse.move(plot.x + plot.width * 0.6, plot.y + 40, { steps: 5 });
	await page.mouse.up();
	await settled();
	check('a range is a filter', /from=/.test(page.url()) && /to=/.test(page.url()), page.url());
	check('and is shown as chips', (await page.locator('.chip').count()) >= 1);

	// The address is the whole state.
	const other = await context.newPage();
	watch(other);
	await other.goto(page.url());
	await settled(other);
	check(
		'somebody else sees the same',
		(await other.locator('main').innerText()) === (await page.locator('main').innerText()),
	);
	await other.close();
	const here = page.url();
	await page.getByRole('link', { name: 'Flame graph' }).click();
	await settled();
	await page.goBack();
	await settled();
	check('back goes back', page.url() === here, page.url());

	// A moment.
	await page.getByRole('link', { name: 'Flame graph' }).click();
	await settled();
	await page.mouse.click(plot.x + plot.width * 0.5, plot.y + 40);
	await settled();
	check(
		'a click is a moment',
		/at=/.test(page.url()) && /value=in-use/.test(page.url()) && !/from=/.test(page.url()),
		page.url(),
	);

	// The flame graph by keyboard.
	await page.locator('.flame canvas').first().focus();
	for (let i = 0; i < 16; i++) await page.keyboard.press('ArrowDown');
	await page.keyboard.press('Enter');
	await settled();
	check('arrows select', /site=/.test(page.url()), page.url());
	check('Enter zooms', (await page.getByRole('button', { name: 'Show all' }).count()) === 1);
	await page.keyboard.press('Escape');
	await settled();
	check('Escape shows all', (await page.getByRole('button', { name: 'Show all' }).count()) === 0);
	await page.getByRole('searchbox', { name: 'Search the flame graph' }).fill('main');
	await settled();
	check(
		'a search says the share',
		/% of/.test(await page.locator('.tools [role=status]').innerText()),
	);
	await accessible('the flame graph');
	await picture('flame');
	void address;
}
