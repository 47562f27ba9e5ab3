// Somebody asks in SQL: completion, an answer as a picture and a table, a fault at its place, a
// question that is cancelled, a file, a link.
export default async function ({
	page,
	context,
	open,
	settled,
	picture,
	accessible,
	check,
	watch,
	allow,
	args,
}) {
	const [stream] = args;
	const editor = page.getByRole('textbox', { name: /SQL statement/ });
	const status = page.locator('.sql .tools [role=status]');

	await open(`#/${stream}/sql`);
	await editor.waitFor();
	await accessible('an empty console');
	await page.emulateMedia({ colorScheme: 'dark' });
	await page.getByRole('button', { name: /^Run/ }).hover();
	await accessible('an empty console in the dark');
	await page.emulateMedia({ colorScheme: 'light' });
	await accessible('its button under the pointer');
	await editor.click();
	await page.keyboard.type('select fun', { delay: 20 });
	await page.locator('.cm-tooltip-autocomplete').waitFor();
	check(
		'columns are completed',
		(await page.locator('.cm-tooltip-autocomplete').innerText()).includes('function'),
	);
	await page.keyboard.press('Escape');
	await page.keyboard.press('Control+a');
	await page.keyboard.type(
		'select function, sum(allocated_bytes) as bytes from stacks group by function ' +
			'order by bytes desc limit 5',
		{ delay: 2 },
	);
	await page.keyboard.press('Escape');
	await page.keyboard.press('Control+Enter');
	await page.waitForFunction(() =>
		/5 rows/.test(document.querySelector('.sql .tools [role=status]')?.textContent ?? ''),
	);
	check('the statement is in the address', /query=select/.test(page.url()), page.url());
	check(
		'bytes are shown as sizes',
		/iB|\d B/.test(await page.locator('.sql .vt-row').first().innerText()),
		await page.locator('.sql .vt-rows').innerText(),
	);
	check(
		'and in full on hovering',
		/^\d+$/.test(await page.locator('.sql .vt-row .n span').first().getAttribute('title')),
	);
	check('bars are drawn', (await page.locator('.bar-of').count()) === 5);
	await accessible('an answer');
	await picture('sql');

	const file = page.waitForEvent('download');
	await page.getByRole('button', { name: 'CSV' }).click();
	check('the file is CSV', /\.csv$/.test((await file).suggestedFilename()));

	const other = await context.newPage();
	watch(other);
	await other.goto(page.url());
	await other.locator('.bar-of').first().waitFor();
	check(
		'somebody else sees the same',
		(await other.locator('.sql .vt-rows').innerText()) ===
			(await page.locator('.sql .vt-rows').innerText()),
	);
	await other.close();

	await page.getByRole('button', { name: 'Examples' }).click();
	await page.getByRole('button', { name: 'In use over time' }).click();
	await page.locator('.sql-plot .u-over').waitFor();
	await settled();
	check('times are lines', (await page.locator('.sql-plot canvas').count()) === 1);
	await page.goBack();
	await page.locator('.bar-of').first().waitFor();
	check('back brings the statement back', (await editor.innerText()).includes('limit 5'));

	allow(/\/sql/);
	await editor.click();
	await page.keyboard.press('Control+a');
	await page.keyboard.type("select 'ä', nope from stacks", { delay: 2 });
	await page.keyboard.press('Escape');
	await page.keyboard.press('Control+Enter');
	const fault = page.getByRole('alert');
	await fault.waitFor();
	check(
		'a fault says where',
		/line 1, column \d+: no such column: nope/.test(await fault.innerText()),
		await fault.innerText(),
	);
	check('and is marked there', (await page.locator('.cm-fault').innerText()) === 'nope');
	await accessible('a fault');

	await page.keyboard.press('Control+a');
	await page.keyboard.type(
		'select count(*) from allocations a, allocations b, allocations c where a.size + ' +
			'b.size + c.size = 1',
		{ delay: 2 },
	);
	await page.keyboard.press('Escape');
	await page.keyboard.press('Control+Enter');
	await page.waitForFunction(() =>
		/Running for|Waiting for/.test(
			document.querySelector('.sql .tools [role=status]')?.textContent ?? '',
		),
	);
	await page.getByRole('button', { name: 'Cancel' }).click();
	await page.waitForFunction(() =>
		/Cancelled/.test(document.querySelector('.sql .tools [role=status]')?.textContent ?? ''),
	);
	check('a question is cancelled', /Cancelled/.test(await status.innerText()));
	await page.getByRole('button', { name: 'History' }).click();
	check('what was asked is kept', (await page.locator('.panel .choice').count()) >= 4);

	// Whatever a view shows goes on in SQL.
	const shown = [
		'overview',
		'bands',
		'flame?reversed',
		'sites?value=in-use&at=50%25',
		'sites?value=peak&size_min=100',
		'leaks',
		'temporary',
		'allocations?value=leaked&sort=size&order=dsc',
		'histogram',
		'maps',
		'space',
		'figures',
		'source',
		'account',
	];
	for (const view of shown) {
		await open(`#/${stream}/${view.replace('?reversed', '?tree=reversed')}`);
		await page.getByRole('button', { name: 'Export' }).click();
		await page.getByRole('button', { name: 'As SQL' }).click();
		await page.waitForFunction(() =>
			/\brows? in\b/.test(
				document.querySelector('.sql .tools [role=status]')?.textContent ?? '',
			),
		);
		check(
			`${view} is answered by SQL`,
			!/^0 rows/.test(await status.innerText()) ||
				/maps|figures|account|leaks|leaked/.test(view),
			`${await editor.innerText()}: ${await status.innerText()}`,
		);
	}
	await picture('sql-of-view');
}
