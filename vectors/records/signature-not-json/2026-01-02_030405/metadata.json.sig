signed
