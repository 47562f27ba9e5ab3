#pragma once
/*
 * Certificates and keys for tests, made with `openssl ca`: P-256 keys that protect nothing.
 */
/* Signs all the others. */
static const char ca_pem[] = "-----BEGIN CERTIFICATE-----\n"
			     "MIIBPDCB46ADAgECAgEBMAoGCCqGSM49BAMCMA0xCzAJBgNVBAMMAmNhMCAXDTIw\n"
			     "MDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjANMQswCQYDVQQDDAJjYTBZMBMG\n"
			     "ByqGSM49AgEGCCqGSM49AwEHA0IABOkTjpcsijVwmlxk7rqY8tMXwuDe5asFqePE\n"
			     "6F7FrR8UrIr6uEizJyK0mxnlWvbNvaa6WELEg1Bk2bqtbbp/LBmjMjAwMA8GA1Ud\n"
			     "EwEB/wQFMAMBAf8wHQYDVR0OBBYEFEUdX0symrBi/xpmRVIs5pqhCrTjMAoGCCqG\n"
			     "SM49BAMCA0gAMEUCICFjLS4Cn4UOLX4LVIrXs7oDw7qH9HEXlrIq1nCgZ+4QAiEA\n"
			     "+sE70MrDAOrIRNOEBHQbt9aM/CQUEzdoW5wIqJyFCvw=\n"
			     "-----END CERTIFICATE-----\n";
/* 2020 to 2120. */
static const char good_pem[] = "-----BEGIN CERTIFICATE-----\n"
			       "MIIBNDCB3KADAgECAgECMAoGCCqGSM49BAMCMA0xCzAJBgNVBAMMAmNhMCAXDTIw\n"
			       "MDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAMMQowCAYDVQQDDAF4MFkwEwYH\n"
			       "KoZIzj0CAQYIKoZIzj0DAQcDQgAE6ROOlyyKNXCaXGTuupjy0xfC4N7lqwWp48To\n"
			       "XsWtHxSsivq4SLMnIrSbGeVa9s29prpYQsSDUGTZuq1tun8sGaMsMCowCQYDVR0T\n"
			       "BAIwADAdBgNVHQ4EFgQURR1fSzKasGL/GmZFUizmmqEKtOMwCgYIKoZIzj0EAwID\n"
			       "RwAwRAIgbd5+pHx8JABrH5DUswi4izer4BZkn1Abwk0lnID1dBoCIFbCRtN4kRuY\n"
			       "OLrxVqoWIc6DWqeoAiM9FzWOy6bctOb7\n"
			       "-----END CERTIFICATE-----\n";
/* Expired on 2021-02-03 04:05:06. */
static const char old_pem[] = "-----BEGIN CERTIFICATE-----\n"
			      "MIIBNDCB2qADAgECAgEDMAoGCCqGSM49BAMCMA0xCzAJBgNVBAMMAmNhMB4XDTIw\n"
			      "MDEwMTAwMDAwMFoXDTIxMDIwMzA0MDUwNlowDDEKMAgGA1UEAwwBeDBZMBMGByqG\n"
			      "SM49AgEGCCqGSM49AwEHA0IABOkTjpcsijVwmlxk7rqY8tMXwuDe5asFqePE6F7F\n"
			      "rR8UrIr6uEizJyK0mxnlWvbNvaa6WELEg1Bk2bqtbbp/LBmjLDAqMAkGA1UdEwQC\n"
			      "MAAwHQYDVR0OBBYEFEUdX0symrBi/xpmRVIs5pqhCrTjMAoGCCqGSM49BAMCA0kA\n"
			      "MEYCIQD4r5ZF3Kbni8fl5zrmuACqUkMeh/mw0VmU0TYO8Onb7wIhAIXiRljPTHp8\n"
			      "inGWbnCpgQg0uaQpsrwdy3dsnior7WKl\n"
			      "-----END CERTIFICATE-----\n";
/* Valid from 2110-01-02 03:04:05 on. */
static const char early_pem[] = "-----BEGIN CERTIFICATE-----\n"
				"MIIBNzCB3qADAgECAgEEMAoGCCqGSM49BAMCMA0xCzAJBgNVBAMMAmNhMCIYDzIx\n"
				"MTAwMTAyMDMwNDA1WhgPMjEyMDAxMDEwMDAwMDBaMAwxCjAIBgNVBAMMAXgwWTAT\n"
				"BgcqhkjOPQIBBggqhkjOPQMBBwNCAATpE46XLIo1cJpcZO66mPLTF8Lg3uWrBanj\n"
				"xOhexa0fFKyK+rhIsycitJsZ5Vr2zb2mulhCxINQZNm6rW26fywZoywwKjAJBgNV\n"
				"HRMEAjAAMB0GA1UdDgQWBBRFHV9LMpqwYv8aZkVSLOaaoQq04zAKBggqhkjOPQQD\n"
				"AgNIADBFAiAN2sPhD9yO9lV4/929KgJ3Egr8MeincUTWAcDVEJIUlAIhALaSy6L2\n"
				"5OzOmps5FrMtrH4aZPFBNK4EJfpmvQEMts07\n"
				"-----END CERTIFICATE-----\n";
/* For servers only. */
static const char server_pem[] =
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBPzCB5qADAgECAgEFMAoGCCqGSM49BAMCMA0xCzAJBgNVBAMMAmNhMCAXDTIw\n"
	"MDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAMMQowCAYDVQQDDAF4MFkwEwYH\n"
	"KoZIzj0CAQYIKoZIzj0DAQcDQgAE6ROOlyyKNXCaXGTuupjy0xfC4N7lqwWp48To\n"
	"XsWtHxSsivq4SLMnIrSbGeVa9s29prpYQsSDUGTZuq1tun8sGaM2MDQwEwYDVR0l\n"
	"BAwwCgYIKwYBBQUHAwEwHQYDVR0OBBYEFEUdX0symrBi/xpmRVIs5pqhCrTjMAoG\n"
	"CCqGSM49BAMCA0gAMEUCIQDBo91EaYsc0JrKP+kGgOlXQ4Q9fYuQUA8t2jNijd+U\n"
	"PwIgNpngI2JVpDrG4f/DchhUcZAmZbg/B66ptcXJrnvO9ps=\n"
	"-----END CERTIFICATE-----\n";
/* Signed by itself. */
static const char self_pem[] = "-----BEGIN CERTIFICATE-----\n"
			       "MIIBdTCCARugAwIBAgIUJtiJ3WNZoggExE/pGjMJRitcns0wCgYIKoZIzj0EAwIw\n"
			       "DzENMAsGA1UEAwwEc2VsZjAgFw0yNjExMjgxODI3MDZaGA8yMTI2MTEwNDE4Mjcw\n"
			       "NlowDzENMAsGA1UEAwwEc2VsZjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABOkT\n"
			       "jpcsijVwmlxk7rqY8tMXwuDe5asFqePE6F7FrR8UrIr6uEizJyK0mxnlWvbNvaa6\n"
			       "WELEg1Bk2bqtbbp/LBmjUzBRMB0GA1UdDgQWBBRFHV9LMpqwYv8aZkVSLOaaoQq0\n"
			       "4zAfBgNVHSMEGDAWgBRFHV9LMpqwYv8aZkVSLOaaoQq04zAPBgNVHRMBAf8EBTAD\n"
			       "AQH/MAoGCCqGSM49BAMCA0gAMEUCIGvvlNgAryc0OEE0NRS5Eq4gQIeSIjBw59X3\n"
			       "kjPfvYcyAiEAwlauctcthQmeRAXxsx0iJR8O6FbBhu3/Dhjy3aez0QI=\n"
			       "-----END CERTIFICATE-----\n";
/* Of all of them. */
static const char key_pem[] = "-----BEGIN PRIVATE KEY-----\n"
			      "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg9tRFbxE5Sn+z0iOO\n"
			      "aot2WAthOBCg+9HNz6IYbF9TF7+hRANCAATpE46XLIo1cJpcZO66mPLTF8Lg3uWr\n"
			      "BanjxOhexa0fFKyK+rhIsycitJsZ5Vr2zb2mulhCxINQZNm6rW26fywZ\n"
			      "-----END PRIVATE KEY-----\n";
/* Of none of them. */
static const char other_key_pem[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQguok9xam0jjyWpMJj\n"
	"Oo0uPB3V0rHr3zmn43X5qNAOX+ShRANCAARx4cVSM84RFd2vZz6qMso7TWio/QrC\n"
	"1Bjy0cXgmy4m95bsC0+8Y5wVWfi/eRBIbJprtGjlfUbLhZ/nXi77FDcJ\n"
	"-----END PRIVATE KEY-----\n";
/* The key, behind a password. */
static const char locked_pem[] =
	"-----BEGIN EC PRIVATE KEY-----\n"
	"Proc-Type: 4,ENCRYPTED\n"
	"DEK-Info: AES-128-CBC,434A47DB8814D991D9BEC4FD5CDEEDA6\n"
	"\n"
	"a0Tx4pDtOv7XomUZZmIwdPZ42zqVRW81M47RqZtZPSnuWocVaJMs623WWrag0jPd\n"
	"jHGPAmdPV7qt1oU5LQd7/79J9OHFilPQZ9A4ZgdvCeRpeUhYJdQE/VYkxgTaPOwy\n"
	"OVOImFghWKyxxx9nDTwRFXVDMNBmozGBDjyX+yXDbhI=\n"
	"-----END EC PRIVATE KEY-----\n";
