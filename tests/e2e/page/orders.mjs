// Orders, snapshots and imports: without the token the page says why; with it a program is stopped,
// started, marked and snapshotted, and files that are dropped open. From elsewhere the login
// counts, and ends.
import { readFileSync, writeFileSync } from 'node:fs';

export default async function ({
	page,
	browser,
	open,
	settled,
	picture,
	accessible,
	allow,
	check,
	args,
}) {
	const [token, stop, profile, broken, elsewhere] = args;
	const row = (name) => page.locator('.recordings .vt-row', { hasText: name });
	const taken = (name) => page.locator('tbody tr', { hasText: name });
	const dialog = page.getByRole('dialog');
	const orders = async (name) => {
		await row(name)
			.getByRole('button', { name: /Orders/ })
			.click();
		await dialog.waitFor();
	};
	const done = async (what) => {
		await dialog.getByText(what).first().waitFor({ timeout: 30000 });
		return dialog.innerText();
	};

	// ---- without the token ----
	await open('#/');
	await row('obeys.py').getByText('● live').waitFor({ timeout: 30000 });
	await row('refuses.py').getByText('● live').waitFor({ timeout: 30000 });
	await orders('obeys.py');
	await dialog.getByText('need the token').waitFor();
	check(
		'it says what is missing',
		/need the token/.test(await dialog.innerText()) && /#token=/.test(await dialog.innerText()),
		await dialog.innerText(),
	);
	check(
		'nothing can be ordered',
		await dialog.getByRole('button', { name: 'Stop', exact: true }).isDisabled(),
	);
	await accessible('orders without the token');
	await picture('orders-no-token');
	await dialog.getByLabel('Token').fill('not-this-one');
	await dialog.getByRole('button', { name: 'Use it' }).click();
	await dialog.getByText('is not this collector’s').waitFor();
	await dialog.getByLabel('Token').fill(token);
	await dialog.getByRole('button', { name: 'Use it' }).click();
	await dialog.getByText('Orders and imports need').waitFor({ state: 'detached' });

	// ---- orders ----
	const stopping = dialog.getByRole('button', { name: 'Stop', exact: true });
	await stopping.click();
	check(
		'what is lost for good is asked for once more',
		/for good/.test(await dialog.getByRole('alertdialog').innerText()),
	);
	await picture('orders-confirm');
	await dialog.getByRole('button', { name: 'Keep on' }).click();
	check('and can be left', (await dialog.getByRole('alertdialog').count()) === 0);
	await stopping.click();
	await dialog.getByRole('button', { name: 'Stop recording' }).click();
	await done('Now: stopped');
	await dialog.getByRole('button', { name: 'Start' }).click();
	await done('Now: every event is recorded');
	await dialog.getByRole('combobox').selectOption('65536');
	await dialog.getByRole('button', { name: 'Samples' }).click();
	await dialog.getByRole('button', { name: 'Take samples' }).click();
	await done('one allocation in 64.0 KiB');
	await dialog.getByLabel('Text of the mark').fill('half past <b>');
	await dialog.getByRole('button', { name: 'Mark', exact: true }).click();
	await done('Done');
	await accessible('orders');
	await picture('orders-done');
	await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
	await picture('orders-dark');
	await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
	await page.keyboard.press('Escape');
	check('Escape closes it', (await dialog.count()) === 0);

	allow(/\/control$/);
	await orders('refuses.py');
	await dialog.getByRole('button', { name: 'Start' }).click();
	check(
		'who refuses says why',
		/takes no orders from collectors/.test(await done('Not done')),
		await dialog.innerText(),
	);
	await page.keyboard.press('Escape');

	await row('obeys.py').getByRole('link').first().click();
	await settled();
	const said = page.locator('.strip li');
	await said.filter({ hasText: 'half past <b>' }).waitFor({ state: 'attached', timeout: 30000 });
	await said.filter({ hasText: 'went on' }).waitFor({ state: 'attached' });
	check(
		'stop and start are on the strip, too',
		(await said.filter({ hasText: /was stopped|went on/ }).count()) >= 2,
		await said.allInnerTexts(),
	);
	await picture('orders-strip');
	await page.setViewportSize({ width: 360, height: 800 });
	await picture('orders-360');
	await page.setViewportSize({ width: 1280, height: 800 });
	await page.getByRole('button', { name: 'Orders…' }).click();
	check(
		'orders in the frame',
		await dialog.getByRole('button', { name: 'Stop', exact: true }).isEnabled(),
	);
	await page.keyboard.press('Escape');

	// ---- snapshots ----
	await page.getByRole('link', { name: 'Fleet' }).click();
	await page.getByRole('button', { name: 'Snapshot…' }).click();
	await dialog.getByLabel('Name of the snapshot').fill('evening');
	await dialog.getByRole('button', { name: 'Take a snapshot' }).click();
	check(
		'who is missing is said',
		/Without .*takes no orders/.test(await done('of 1 process')),
		await dialog.innerText(),
	);
	await picture('snapshot-taken');
	await page.keyboard.press('Escape');
	const search = page.getByLabel('Search the recordings');
	await search.fill('tag:kind=obeys state=live');
	await page.getByRole('button', { name: 'Snapshot…' }).click();
	check(
		'a snapshot of those that are listed',
		/all live programs with tag:kind=obeys state=live have/.test(await dialog.innerText()),
		await dialog.innerText(),
	);
	await dialog.getByLabel('Name of the snapshot').fill('chosen');
	await dialog.getByRole('button', { name: 'Take a snapshot' }).click();
	const chosen = await done('of 1 process');
	check('it has one program, and misses none', !/Without/.test(chosen), chosen);
	await page.keyboard.press('Escape');
	await search.fill('');
	await page.getByRole('button', { name: 'Snapshot…' }).click();
	await dialog.getByLabel('Name of the snapshot').waitFor();
	await page.keyboard.press('Escape');
	await dialog.waitFor({ state: 'detached' });
	await page.getByRole('radio', { name: 'Snapshots' }).click();
	await taken('evening').getByText('1 process').click();
	check(
		'who is in it, and who is not',
		/python3[^]*without python3[^]*takes no orders/.test(await taken('evening').innerText()),
		await taken('evening').innerText(),
	);
	await accessible('snapshots');
	await picture('snapshots');
	await taken('evening').getByRole('link', { name: 'evening' }).click();
	await settled();
	check(
		'it opens as a stream does',
		(await page.locator('.overview').count()) === 1 &&
			/evening/.test(await page.locator('header').innerText()),
		await page.locator('header').innerText(),
	);
	await page.getByRole('button', { name: 'Orders…' }).click();
	check(
		'nothing can be ordered of it',
		/has ended/.test(await dialog.innerText()) &&
			(await dialog.getByRole('button', { name: 'Stop', exact: true }).count()) === 0,
		await dialog.innerText(),
	);
	await page.keyboard.press('Escape');

	// ---- files ----
	allow(/\/import/);
	await open('#/');
	await page.locator('input[type=file]').setInputFiles([broken, profile]);
	const imported = page.getByRole('list', { name: 'Imported files' });
	await imported.getByText('line 3').waitFor({ timeout: 30000 });
	await imported.getByRole('link', { name: 'open' }).waitFor({ timeout: 30000 });
	await row('--port 80').first().waitFor({ timeout: 30000 });
	await page.evaluate((text) => {
		const data = new DataTransfer();
		data.items.add(new File([text], '../<i>dropped.collapsed'));
		document.body.dispatchEvent(
			new DragEvent('dragover', { dataTransfer: data, bubbles: true, cancelable: true }),
		);
	}, '');
	await page.getByText('Drop files to import them.').waitFor();
	await picture('import-over');
	await page.evaluate((text) => {
		const data = new DataTransfer();
		data.items.add(new File([text], '../<i>dropped.collapsed'));
		document.body.dispatchEvent(
			new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }),
		);
	}, 'main;read;take 300\nmain;write 40\n');
	await row('dropped.collapsed').waitFor({ timeout: 30000 });
	check(
		'and that the other is a snapshot',
		(await row('snapshot:evening').locator('.state').innerText()) === 'snapshot',
	);
	check(
		'the list says that it was imported',
		/imported/.test(await row('dropped.collapsed').innerText()),
		await row('dropped.collapsed').innerText(),
	);
	await accessible('imports');
	await picture('imports');
	for (const width of [360, 2560]) {
		await page.setViewportSize({ width, height: 800 });
		await picture(`imports-${width}`);
	}
	await page.setViewportSize({ width: 1280, height: 800 });
	await imported.getByRole('link', { name: 'open' }).first().click();
	await settled();
	check('what was imported opens', (await page.locator('.overview').count()) === 1);
	writeFileSync(stop, '');

	// ---- from elsewhere ----
	const context = await browser.newContext({ ignoreHTTPSErrors: true });
	const far = await context.newPage();
	await far.goto(elsewhere);
	await far.getByLabel(/token/).fill(token);
	await far.getByRole('button', { name: 'Log in' }).click();
	await far.getByRole('button', { name: 'Log out' }).waitFor({ timeout: 30000 });
	await far.locator('input[type=file]').setInputFiles({
		name: 'by-cookie',
		mimeType: 'text/plain',
		buffer: readFileSync(profile),
	});
	await far.getByRole('link', { name: 'open' }).waitFor({ timeout: 30000 });
	check('by the cookie files are imported', true);
	await far.getByRole('button', { name: 'Log out' }).click();
	await far.getByRole('button', { name: 'Log in' }).waitFor({ timeout: 30000 });
	check('the login ends', (await far.request.get(`${elsewhere}/list`)).status() === 401);
	await context.close();
}
