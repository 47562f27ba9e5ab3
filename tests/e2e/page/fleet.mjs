// A program that is started while somebody looks appears by itself, moves, and ends; two recordings
// are picked and compared.
import { writeFileSync } from 'node:fs';

export default async function ({ page, open, settled, picture, accessible, check, args }) {
	const [go, stop, name, second] = args;
	const row = page.locator('.recordings .vt-row', { hasText: name });
	const events = async () => (await row.locator('[data-column=events]').innerText()) || '0';

	await open('#/');
	check(
		'an empty fleet says what to do',
		/No recording yet/.test(await page.locator('main').innerText()),
	);
	await accessible('an empty fleet');
	await picture('fleet-empty');

	writeFileSync(go, '');
	await row.waitFor({ timeout: 30000 });
	check('it is live', /live/.test(await row.innerText()), await row.innerText());
	const before = await events();
	for (let i = 0; i < 100 && (await events()) === before; i++) await page.waitForTimeout(100);
	check('its events move', (await events()) !== before, before);
	await picture('fleet-live');
	await row.getByRole('link').first().click();
	await settled();
	check('it opens', (await page.getByText('● live').count()) > 0);
	await page.getByRole('link', { name: 'Flame graph' }).click();
	await page.locator('.flame canvas').first().waitFor({ timeout: 30000 });
	await picture('flame-live');

	await page.getByRole('link', { name: 'Fleet' }).click();
	writeFileSync(second, '');
	await page.getByText(/1 agent has no place/).waitFor({ timeout: 30000 });
	check('an agent without a place is told of', true);
	await picture('fleet-no-place');
	await row.getByRole('link').first().click();
	await settled();

	writeFileSync(stop, '');
	await page.getByText('ended', { exact: true }).first().waitFor({ timeout: 30000 });
	check('its end is shown', true);
	await settled();
	await page.getByRole('link', { name: 'Fleet' }).click();
	await settled();
	check('and in the fleet', /ended/.test(await row.innerText()), await row.innerText());
	await accessible('the fleet');
	await page.getByRole('searchbox').fill('nothing-of-that-name');
	check(
		'a search that finds nothing says so',
		/Nothing matches/.test(await page.locator('main').innerText()),
	);
}
