// A leak that was planted is found in three clicks: the recording, its leaks, the first row.
export default async function ({ page, open, settled, picture, accessible, check, args }) {
	const [stream] = args;

	await open('#/');
	await page
		.locator(`a[href*="${stream.slice(0, 12)}"]`)
		.first()
		.click();
	await settled();
	await page
		.getByRole('navigation', { name: 'Views' })
		.getByRole('link', { name: 'Leaks' })
		.click();
	await settled();
	const first = page.locator('main').getByRole('row').nth(1);
	check(
		'the leak is the first',
		(await first.innerText()).includes('forget_session'),
		await first.innerText(),
	);
	check(
		'with how many were not freed',
		/200/.test(await first.innerText()),
		await first.innerText(),
	);
	await first.click();
	await settled();
	const stack = await page.locator('.inspector .stack').innerText();
	check(
		'its stack says who called',
		/forget_session[\s\S]*serve_request[\s\S]*main/.test(stack),
		stack,
	);
	check('and where', /planted\.c:\d+/.test(stack), stack);
	await accessible('leaks');
	await picture('leak');

	// What libraries are known to keep is left out, until it is asked for.
	const rows = async () =>
		Number(
			await page
				.locator('main [role=table], main [role=grid]')
				.first()
				.getAttribute('aria-rowcount'),
		);
	const before = await rows();
	await page.getByRole('link', { name: /suppressed: show/ }).click();
	await settled();
	check(
		'what was suppressed is shown',
		(await rows()) > before,
		`${await rows()} rows, ${before} before`,
	);
	await page.getByRole('link', { name: 'Leave out what libraries are known to keep' }).click();
	await settled();
	check(
		'and left out again',
		(await rows()) === before,
		`${await rows()} rows, ${before} before`,
	);
	await page.getByRole('link', { name: 'Blocks of forget_session' }).click();
	await settled();
	const block = page.locator('main').getByRole('row').nth(1);
	check(
		'a block begins at its call site',
		/^forget_session/.test((await block.innerText()).trim()),
		await block.innerText(),
	);
	await picture('leak-blocks');
}
