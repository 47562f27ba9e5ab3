// The pictures of docs/tutorial.md (docs/pictures/make): what the page shows of metricd, and that
// it shows what is said there.
export default async function ({ page, open, settled, picture, check, args }) {
	const [stream, token] = args;
	const main = page.locator('main');
	const view = async (name) => {
		await page
			.getByRole('navigation', { name: 'Views' })
			.getByRole('link', { name, exact: true })
			.click();
		await settled();
	};

	await open(`#token=${token}`);
	await page
		.locator(`a[href*="${stream.slice(0, 12)}"]`)
		.first()
		.click();
	await settled();

	await view('Leaks');
	const row = main.getByRole('row').nth(1);
	const text = await row.innerText();
	check(
		'the subscribers are the first',
		/Subscriber::Subscriber[\s\S]*of [\d,]+ not freed/.test(text),
		text,
	);
	const hidden = main.locator('.hidden-names');
	check(
		'it says what is hidden',
		/^Hidden: operator new, .* more Show$/.test(await hidden.innerText()),
		await hidden.innerText(),
	);
	await row.click();
	await settled();
	const stack = await page.locator('.inspector .stack').innerText();
	check('the stack says who subscribed', /Hub::subscribe[\s\S]*main/.test(stack), stack);
	await picture('tutorial-leaks');

	await view('Bands');
	const bands = await main.innerText();
	check(
		'bands name subscribers and the history',
		/Subscriber::Subscriber[\s\S]*History::add/.test(bands),
		bands,
	);
	await picture('tutorial-bands');

	await view('Call sites');
	await hidden.getByRole('link', { name: 'Show' }).click();
	await settled();
	check('and shows it', (await hidden.count()) === 0 && /hide=none/.test(page.url()), page.url());
	check(
		'then operator new is the call site',
		/^operator new/.test(await main.getByRole('row').nth(1).innerText()),
		await main.getByRole('row').nth(1).innerText(),
	);
}
