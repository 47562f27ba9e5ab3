// The walk of docs/page.md through a server with the faults that servers have (answerd.c), step by
// step as it stands there. The pictures of that page are taken here (docs/pictures/make).
export default async function ({ page, open, settled, picture, accessible, check, args }) {
	const [stream, token] = args;
	const main = page.locator('main');
	const row = (n) => main.getByRole('row').nth(n);
	const view = async (name) => {
		await page
			.getByRole('navigation', { name: 'Views' })
			.getByRole('link', { name, exact: true })
			.click();
		await settled();
	};
	/** Clicks the time strip: at a part of the whole. */
	const moment = async (part) => {
		const plot = await page.locator('.strip .u-over').boundingBox();
		await page.mouse.click(plot.x + plot.width * part, plot.y + 40);
		await page.mouse.move(plot.x + plot.width * part, plot.y - 60);
		await settled();
	};
	const shot = (name) => picture(`walk-${name}`);
	const first = async (what, pattern) => {
		const text = await row(1).innerText();
		check(what, pattern.test(text), text);
	};

	// What is wrong at all?
	await open(`#token=${token}`);
	await page
		.locator(`a[href*="${stream.slice(0, 12)}"]`)
		.first()
		.click();
	await settled();
	check(
		'the overview says what stands out',
		/build_index has \d+/.test(await main.innerText()),
		await main.innerText(),
	);
	await shot('overview');

	// Which call sites had it when? The cache grows, the index comes and goes.
	await view('Bands');
	const bands = await main.innerText();
	check(
		'bands name the large ones',
		/build_index[\s\S]*remember[\s\S]*sort_answers/.test(bands),
		bands,
	);
	await shot('bands');

	// The leak, in three clicks from the fleet: recording, leaks, first row.
	await view('Leaks');
	await first('the growing leak is the first', /open_session[\s\S]*250 of 3,000 not freed/);
	check(
		'what was only kept is below',
		/read_settings[\s\S]*none was ever freed/.test(await row(2).innerText()),
		await row(2).innerText(),
	);
	await row(1).click();
	await settled();
	const stack = await page.locator('.inspector .stack').innerText();
	check(
		'its stack says for whom',
		/open_session[\s\S]*serve_request[\s\S]*main/.test(stack),
		stack,
	);
	await shot('leaks');

	// The line.
	await page
		.locator('.inspector')
		.getByRole('link', { name: /answerd\.c:\d+ in the source/ })
		.click();
	await page.locator('.source-text').waitFor();
	await settled();
	check(
		'the line is selected',
		/malloc\(sizeof\(\*session\)\)/.test(await page.locator('.source-text').innerText()),
	);
	await shot('source');

	// The cache: no leak, for it is freed at the end. What has come between two moments?
	await view('Differences');
	await moment(0.12);
	await page.getByRole('button', { name: 'Compare…' }).click();
	await page.getByRole('button', { name: /^itself at/ }).click();
	await settled();
	await moment(0.97);
	await first('what grows is the first difference', /^remember/);
	await shot('differences');
	await page.getByRole('button', { name: 'Compare no more' }).click();

	// The peak: what was there for a moment.
	await page.getByRole('radio', { name: 'Peak' }).click();
	await view('Flame graph');
	const functions = await main.innerText();
	check(
		'a block for a moment makes the peak',
		/sort_answers[\s\S]*4\.00 MiB/.test(functions),
		functions,
	);
	await page.getByRole('searchbox', { name: 'Search the flame graph' }).fill('serve_request');
	await settled();
	check(
		'a search says the share',
		/% of .* match/.test(await page.locator('.tools [role=status]').innerText()),
	);
	await shot('flame');

	// Work that is for nothing.
	await view('Temporary');
	await first('what is freed at once, the most often first', /^copy_field[\s\S]*3\d,\d{3}/);
	await shot('temporary');

	// Memory with holes: little is in use, and the pages stay.
	await moment(0.85);
	await view('Address space');
	const space = await page.locator('.space-top').innerText();
	check(
		'it says how full the pages are',
		Number(/([\d.]+) % full/.exec(space)?.[1] ?? 100) < 75,
		space,
	);
	await shot('space');

	// Any other question.
	await view('SQL');
	await page.getByRole('button', { name: 'Examples' }).waitFor();
	await settled();
	await page.locator('.cm-content').click();
	await page.keyboard.type(
		'select size, count(*) as blocks, sum(size) as bytes from allocations group by ' +
			'size order by bytes desc limit 20',
	);
	await page.keyboard.press('Control+Enter');
	await page.getByRole('cell').first().waitFor();
	await settled();
	check(
		'SQL answers',
		(await page.getByRole('row').count()) > 10,
		await page.getByRole('row').count(),
	);
	await accessible('an answer of SQL, plotted');
	await shot('sql');
}
