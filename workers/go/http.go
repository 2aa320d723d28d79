// Reading a URL in Go, compiled only for that: net/http makes a program start later.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
)

func init() { methods["http"] = byHTTP }

// byHTTP reads the URL in place of the file.
func byHTTP(r *reader) error {
	client, ok := r.client.(*http.Client)
	if !ok {
		var err error
		if client, err = newClient(r.certificates); err != nil {
			return err
		}
		r.client = client
	}
	response, err := client.Get(r.url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s was answered with %s", r.url, response.Status)
	}
	return r.addAll(response.Body)
}

// newClient trusts the certificates of this file, if there is one.
func newClient(certificates string) (*http.Client, error) {
	transport := &http.Transport{}
	if certificates != "" {
		pem, err := os.ReadFile(certificates)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	return &http.Client{Transport: transport}, nil
}
