// What goes wrong in one place leaves the rest as it is: a view that fails, a question that takes
// long and is taken back, a change of the theme.
export default async function ({ page, open, settled, picture, accessible, check, address, args }) {
	const [stream, big] = args;

	// A view that fails: the answer is not what the page is made for.
	await page.route(/\/histogram/, (route) => route.fulfill({ json: { sizes: null } }));
	await open(`#/${stream}/histogram`);
	const failed = page.getByRole('alert');
	await failed.waitFor();
	check(
		'it says what failed',
		/This view failed/.test(await failed.innerText()),
		await failed.innerText(),
	);
	check(
		'and has the details',
		/histogram/.test(
			await page.getByRole('textbox', { name: 'Details of the fault' }).inputValue(),
		),
	);
	await accessible('a view that failed');
	await picture('view-failed');
	await page.unroute(/\/histogram/);
	await page.getByRole('link', { name: 'Call sites' }).click();
	await settled();
	check(
		'other views go on',
		(await page.getByRole('alert').count()) === 0 &&
			(await page.locator('main').getByRole('row').count()) > 2,
	);
	await page.getByRole('link', { name: 'Sizes, lifetimes' }).click();
	await page.getByRole('button', { name: 'Load the page anew' }).click();
	await page
		.getByRole('heading', { name: /Sizes|Size/ })
		.or(page.locator('.bar-group'))
		.first()
		.waitFor();
	check('so does this one, when it can', (await page.getByRole('alert').count()) === 0);

	// The theme changes: all that is drawn changes with it.
	const brightest = () =>
		page.locator('.strip canvas').evaluate((canvas) => {
			const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {
				willReadFrequently: true,
			});
			copy.drawImage(canvas, 0, 0);
			const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
			let filled = 0;
			let light = 0;
			for (let i = 0; i < data.length; i += 4)
				if (data[i + 3] === 255) {
					filled++;
					light += (data[i] + data[i + 1] + data[i + 2]) / 3;
				}
			return light / filled;
		});
	await page.emulateMedia({ colorScheme: 'light' });
	await settled();
	const light = await brightest();
	await page.emulateMedia({ colorScheme: 'dark' });
	await settled();
	const dark = await brightest();
	check(
		'the strip is drawn in the colours of the theme',
		light > 150 && dark < 110,
		`${light} in light, ${dark} in dark`,
	);
	await page.emulateMedia({ colorScheme: 'light' });
	await settled();
	check('and back', Math.abs((await brightest()) - light) < 2, `${await brightest()}`);

	// Moments in every unit that the API takes.
	await open(`#/${stream}/overview?value=in-use&at=10ms`);
	const shown = await page.locator('.strip canvas').evaluate((c) => c.toDataURL());
	await open(`#/${stream}/overview?value=in-use&at=0.01s`);
	check(
		'10ms is 0.01s',
		shown === (await page.locator('.strip canvas').evaluate((c) => c.toDataURL())),
	);

	// A question that takes long says so at the foot, where nothing moves for it, and is taken
	// back.
	await page.goto(`about:blank`);
	await page.goto(
		`${address}/#/${big}/flame?value=allocated&custom_filter=` +
			`${encodeURIComponent('size % 7 = 3')}`,
	);
	const asking = page.locator('footer .asking');
	await asking.waitFor({ timeout: 20000 });
	check(
		'what is being asked',
		/Asking for/.test(await asking.innerText()),
		await asking.innerText(),
	);
	const before = await page.locator('main').boundingBox();
	await asking.getByRole('button', { name: 'Cancel' }).click();
	await page.getByText('Cancelled.').first().waitFor();
	const after = await page.locator('main').boundingBox();
	check(
		'nothing moved',
		JSON.stringify(before) === JSON.stringify(after),
		JSON.stringify([before, after]),
	);
	await asking.waitFor({ state: 'detached' });
	// (Of the view, of the strip, or of both: one of them may have been answered before.)
	const again = page.getByRole('button', { name: 'Ask again' });
	while (await again.count()) await again.first().click();
	await picture('asking');
	await accessible('a long question');
	await settled();
	check(
		'asked again, it is answered',
		(await page.locator('.flame canvas').count()) > 0 &&
			(await page.locator('.strip canvas').count()) > 0,
	);
}
